// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unpacked are the files of an archive by their names below its folder.
func unpacked(t *testing.T, p platform) map[string][]byte {
	t.Helper()
	r := release{version: version}
	all := map[string][]byte{}
	if p.os == "windows" {
		archive := content(t, r.name(p, ".zip"))
		z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			opened, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			if all[f.Name], err = io.ReadAll(opened); err != nil {
				t.Fatal(err)
			}
		}
	} else {
		z, err := gzip.NewReader(bytes.NewReader(content(t, r.name(p, ".tar.gz"))))
		if err != nil {
			t.Fatal(err)
		}
		all = untarred(t, z)
	}
	below := map[string][]byte{}
	for name, text := range all {
		inside, is := strings.CutPrefix(name, r.name(p, "")+"/")
		if !is {
			t.Errorf("%s: %s is not in the folder of the archive", p, name)
		}
		below[inside] = text
	}
	return below
}

func untarred(t *testing.T, from io.Reader) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err == nil {
			all[h.Name], err = io.ReadAll(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryArchiveHoldsTheProgramOfItsPlatform(t *testing.T) {
	for _, p := range platforms(t) {
		files := unpacked(t, p)
		b := binary{platform: p}
		info, err := buildinfo.Read(bytes.NewReader(files[b.file()]))
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if settings["GOOS"] != p.os || settings["GOARCH"] != p.arch || settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
			t.Errorf("%s: the program was built with %v", p, settings)
		}
		for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "NOTICES.txt", "man/rke-lm.1", "man/rke-lm-plan.1", "completions/rke-lm.bash", "completions/_rke-lm", "completions/rke-lm.fish", "completions/rke-lm.ps1"} {
			if len(files[name]) == 0 {
				t.Errorf("%s: there is no %s", p, name)
			}
		}
	}
}

func TestNoFileNamesAFolderOfThisMachine(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range unpacked(t, native) {
		for _, folder := range []string{filepath.Dir(made), filepath.Join(home, "go"), os.TempDir() + "/rke-lm"} {
			if bytes.Contains(text, []byte(folder)) {
				t.Errorf("%s has %s in it", name, folder)
			}
		}
	}
}

func TestTheNativeProgramRuns(t *testing.T) {
	program := filepath.Join(t.TempDir(), "rke-lm")
	if err := os.WriteFile(program, unpacked(t, native)[(&binary{platform: native}).file()], 0o700); err != nil {
		t.Fatal(err)
	}
	printed := output(t, exec.Command(program, "version", "-o", "json"))
	revision := strings.TrimSpace(output(t, exec.Command("git", "rev-parse", "HEAD")))
	for _, part := range []string{`"version": "` + version + `"`, `"revision": "` + revision + `"`} {
		if !strings.Contains(printed, part) {
			t.Errorf("%s is not in\n%s", part, printed)
		}
	}
	if planned := output(t, exec.Command(program, "plan", "../examples/docs-like.yaml")); !strings.Contains(planned, "next: rke-lm apply --next ../examples/docs-like.yaml\n") {
		t.Errorf("plan prints\n%s", planned)
	}
}

// TestNoticesHaveTheLicenseOfEveryLinkedModule asks go for the modules, not the program.
func TestNoticesHaveTheLicenseOfEveryLinkedModule(t *testing.T) {
	notices := string(unpacked(t, native)["NOTICES.txt"])
	for module := range linkedModules(t, native) {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(module) + `: (LICENSE|COPYING)`).MatchString(notices) {
			t.Errorf("there is no license of %s", module)
		}
	}
}

// linkedModules are the modules of which go compiles packages, as "path version".
func linkedModules(t *testing.T, p platform) map[string]bool {
	t.Helper()
	c := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "./cmd/rke-lm")
	c.Dir = ".."
	c.Env = append(os.Environ(), "GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0")
	found := map[string]bool{}
	for line := range strings.Lines(output(t, c)) {
		if module := strings.TrimSpace(line); module != "" {
			found[module] = true
		}
	}
	return found
}
