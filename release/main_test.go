// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const version = "v0.1.0"

// made is the folder that make release wrote in a clone, and served the address at which
// its files are. The helm that was given is the lab's.
var made, served, given string

// TestMain releases the commit once, for all tests.
func TestMain(m *testing.M) {
	os.Exit(withRelease(m))
}

func withRelease(m *testing.M) int {
	folder, err := os.MkdirTemp("", "rke-lm-release-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	clone := filepath.Join(folder, "one")
	made = filepath.Join(clone, "dist")
	server := httptest.NewServer(http.FileServer(http.Dir(made)))
	defer server.Close()
	served = server.URL
	if native.os == "linux" {
		if given, err = buildHelm(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if err := makeRelease(clone); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// makeRelease clones the commit into a folder and makes the release there.
func makeRelease(clone string, env ...string) error {
	repository, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	for _, words := range [][]string{
		{"git", "clone", "-q", repository, clone},
		{"make", "-C", clone, "release", "VERSION=" + version, "BASE_URL=" + served, "PLATFORMS=" + tested(), "HELM=" + given},
	} {
		c := exec.Command(words[0], words[1:]...)
		c.Env = append(os.Environ(), env...)
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(words, " "), err, out)
		}
	}
	return nil
}

// buildHelm builds helm for this machine into a folder, as published. No C library is linked, as in helm's own archives.
func buildHelm(folder string) (string, error) {
	file := filepath.Join(folder, "helm")
	c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, helmProgram)
	c.Dir = filepath.Join("..", "lab", "helm")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("helm: %w\n%s", err, out)
	}
	return file, nil
}

// tested are the platforms of the release: RELEASE_PLATFORMS=all means all, and takes minutes.
func tested() string {
	if os.Getenv("RELEASE_PLATFORMS") == "all" {
		return ""
	}
	return native.String()
}

// platforms are those of the release as a list.
func platforms(t *testing.T) []platform {
	t.Helper()
	list, err := parsePlatforms(tested())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// content reads a file of the release.
func content(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(made, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// files are the names and digests of a folder.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	list, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{}
	for _, f := range list {
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		digests[f.Name()] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	return digests
}

// output runs a program and returns what it prints.
func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s", c.Args, err, out.String(), errs.String())
	}
	return out.String()
}
