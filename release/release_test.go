// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTwoClonesGiveTheSameBytes makes the release again in a folder with a longer name, in
// another time zone, by a user whose files no one else can read. With all platforms, nothing
// that was compiled for the first one is used.
func TestTwoClonesGiveTheSameBytes(t *testing.T) {
	env := []string{"TZ=Asia/Tokyo", "LC_ALL=C", "GOFLAGS=-buildvcs=true", "GOAMD64=v3", "CGO_ENABLED=1"}
	if tested() == "" {
		env = append(env, "GOCACHE="+t.TempDir())
	}
	other := filepath.Join(t.TempDir(), "another folder, further down", "two")
	if err := makeRelease(other, env...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files(t, made), files(t, filepath.Join(other, "dist"))); diff != "" {
		t.Errorf("(-one +two):\n%s", diff)
	}
}

func TestChecksumsAreThoseOfTheFiles(t *testing.T) {
	want := files(t, made)
	delete(want, "checksums.txt")
	delete(want, provenanceFile)
	got := map[string]string{}
	for line := range strings.Lines(string(content(t, "checksums.txt"))) {
		digest, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		got[name] = digest
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-files +checksums):\n%s", diff)
	}
}

func TestAReleaseHasAnArchiveAndAListForEveryPlatform(t *testing.T) {
	want := map[string]bool{"checksums.txt": true, provenanceFile: true, plugin + ".yaml": true}
	for _, p := range platforms(t) {
		suffix := ".tar.gz"
		switch p.os {
		case "windows":
			suffix = ".zip"
		case "linux":
			want["rke-lm_v0.1.0_oci.tar"] = true
			if p == native {
				want["rke-lm_v0.1.0_oci-helm.tar"], want["rke-lm_v0.1.0_"+p.os+"_"+p.arch+"_helm.cdx.json"] = true, true
			}
		}
		want["rke-lm_v0.1.0_"+p.os+"_"+p.arch+suffix] = true
		want["rke-lm_v0.1.0_"+p.os+"_"+p.arch+".cdx.json"] = true
	}
	got := map[string]bool{}
	for name := range maps.Keys(files(t, made)) {
		got[name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAVersionThatTheChangelogDoesNotDescribeIsRefused(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "CHANGELOG.md"), []byte("## [Unreleased]\n\n## [0.1.0] - 2026-01-02\n\n## [0.0.9]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for version, works := range map[string]bool{
		"v0.1.0": true, "v0.2.0-rc.1": true, "v0.2.0": false, "v0.0.9": false, "0.1.0": false, "v0.1": false, "v0.1.0+meta": false, "latest": false,
	} {
		r := release{source: folder, version: version}
		if err := r.readVersion(t.Context()); (err == nil) != works {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestPlatformsAreThoseOfTheList(t *testing.T) {
	if list, err := parsePlatforms(""); err != nil || len(list) != 6 {
		t.Errorf("all are %v, %v", list, err)
	}
	if list, err := parsePlatforms("darwin/arm64,darwin/arm64,windows/amd64"); err != nil || len(list) != 2 {
		t.Errorf("two are %v, %v", list, err)
	}
	if _, err := parsePlatforms("plan9/amd64"); err == nil {
		t.Error("plan9 is taken")
	}
}
