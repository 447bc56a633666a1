// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	containers "github.com/google/go-containerregistry/pkg/v1"
)

// TestTheImageWithHelmHasOneThatRuns finds helm on the PATH of the image and lets it write where it has to, with all else
// of the image read-only, as in the Deployment of the chart.
func TestTheImageWithHelmHasOneThatRuns(t *testing.T) {
	if native.os != "linux" {
		t.Skip("images are for Linux")
	}
	image := images(t, helmVariant)[native.arch]
	if image == nil {
		t.Fatalf("there is no image for %s", native.arch)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	root := rootOf(t, image)
	helm := onPath(t, root, config.Config)
	if err := os.Chmod(filepath.Join(root, "home/rke-lm"), 0o555); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "tmp"), 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if printed := output(t, within(root, config.Config, helm, "version", "--short")); !strings.HasPrefix(printed, "v3.") {
		t.Errorf("it prints %q", printed)
	}
	charts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "apiVersion: v1\nentries: {}\n")
	}))
	defer charts.Close()
	if os.Geteuid() == 0 { // others have no image around it, and so its /tmp is the machine's
		if printed := output(t, within(root, config.Config, helm, "repo", "add", "charts", charts.URL)); !strings.Contains(printed, "has been added") {
			t.Errorf("it prints %q", printed)
		}
	}
	if printed := output(t, within(root, config.Config, config.Config.Entrypoint[0], "version")); !strings.HasPrefix(printed, "rke-lm "+version+" (") {
		t.Errorf("it prints %q", printed)
	}
}

// onPath returns where the programs of an image find helm.
func onPath(t *testing.T, root string, config containers.Config) string {
	t.Helper()
	for _, v := range config.Env {
		list, is := strings.CutPrefix(v, "PATH=")
		if !is {
			continue
		}
		for _, folder := range filepath.SplitList(list) {
			file := filepath.Join(folder, "helm")
			if s, err := os.Stat(filepath.Join(root, file)); err == nil && s.Mode()&0o111 == 0o111 {
				return file
			}
		}
	}
	t.Fatalf("helm is not on the PATH: %v", config.Env)
	return ""
}

// TestTheImageNamesItsHelm reads which helm it is: from the labels, the history and the list of what is in the image.
func TestTheImageNamesItsHelm(t *testing.T) {
	if native.os != "linux" {
		t.Skip("images are for Linux")
	}
	config, err := images(t, helmVariant)[native.arch].ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(given)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(program)
	digest := hex.EncodeToString(sum[:])
	labels := config.Config.Labels
	if labels["io.rke-lm.helm.sha256"] != digest || !strings.HasPrefix(labels["io.rke-lm.helm.version"], "v3.") || labels["org.opencontainers.image.version"] != version {
		t.Errorf("%v", labels)
	}
	if h := config.History; len(h) != 2 || !strings.Contains(h[1].CreatedBy, digest) {
		t.Errorf("%+v", h)
	}
	var bill struct {
		SerialNumber string
		Components   []struct {
			Name, Version string
			Hashes        []struct{ Content string }
			Components    []any
		}
	}
	if err := json.Unmarshal(content(t, (&release{version: version}).name(native, "_helm.cdx.json")), &bill); err != nil {
		t.Fatal(err)
	}
	last := bill.Components[len(bill.Components)-1]
	if last.Name != "helm" || last.Version != labels["io.rke-lm.helm.version"] || len(last.Hashes) != 1 || last.Hashes[0].Content != digest || len(last.Components) < 50 {
		t.Errorf("%+v", last)
	}
	if plain := content(t, (&release{version: version}).name(native, ".cdx.json")); strings.Contains(string(plain), bill.SerialNumber) || strings.Contains(string(plain), digest) {
		t.Error("the list without helm has the same serial number, or helm")
	}
}

// TestWhatIsNoHelmForTheImageIsRefused gives programs that could not run there, or are another one.
func TestWhatIsNoHelmForTheImageIsRefused(t *testing.T) {
	if native.os != "linux" {
		t.Skip("images are for Linux")
	}
	self := filepath.Join(rootOf(t, images(t, "")[native.arch]), "rke-lm")
	script := filepath.Join(t.TempDir(), "helm")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	other := platform{"linux", map[string]string{"amd64": "arm64", "arm64": "amd64"}[native.arch]}
	for _, c := range []struct {
		files     []string
		platforms []platform
		why       string
	}{
		{[]string{script}, supported, "no program for Linux"},
		{[]string{filepath.Join(t.TempDir(), "missing")}, supported, "no such file"},
		{[]string{"/bin/sh"}, supported, "C library"},
		{[]string{self}, supported, "not helm 3"},
		{[]string{given, given}, supported, "another one for linux/" + native.arch},
		{[]string{given}, []platform{other}, "not one of -platforms"},
	} {
		r := release{platforms: c.platforms}
		if err := r.readHelms(c.files); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%v: %v, want %q", c.files, err, c.why)
		}
	}
	r := release{platforms: supported}
	if err := r.readHelms([]string{given}); err != nil || r.helms[native.arch] == nil {
		t.Error(err)
	}
}
