// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// TestGoInstallRefusesTheModule is about what the readme says: go installs no program
// whose go.mod excludes versions.
func TestGoInstallRefusesTheModule(t *testing.T) {
	proxy := t.TempDir()
	folder := filepath.Join(proxy, modulePath, "@v")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	goMod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"list": version + "\n", version + ".mod": string(goMod), version + ".info": fmt.Sprintf("{\"Version\": %q}", version)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := os.Create(filepath.Join(folder, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := modzip.CreateFromVCS(archive, module.Version{Path: modulePath, Version: version}, filepath.Dir(made), "HEAD", ""); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", "install", modulePath+"/cmd/rke-lm@"+version)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "GOBIN="+t.TempDir(), "GOMODCACHE="+filepath.Join(t.TempDir(), "cache"), "GOFLAGS=-modcacherw",
		"GOPROXY=file://"+filepath.ToSlash(proxy), "GONOSUMDB=*", "GOTOOLCHAIN=local")
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "exclude directives") {
		t.Errorf("%v\n%s", err, out)
	}
}
