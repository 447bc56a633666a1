// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// oneOfEach is a number of clusters that has all kinds of them at all versions.
const oneOfEach = 80

func written(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Stream(&b, oneOfEach); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is measured would mean little if clusters were refused.
func TestEveryStageAppliesToTheFleet(t *testing.T) {
	for _, c := range yamledit.Split("fleet.yaml", written(t)) {
		d, err := transform.Parse(c)
		if err != nil {
			t.Fatal(err)
		}
		p, err := transform.Build(rke2.Distro(), transform.Only(d), transform.Target{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Steps {
			if s.Stage.Edit != nil && s.State != transform.Todo {
				t.Errorf("%s: %s is %s: %v", p.Cluster.Name, s.Stage.Name, s.State, s.Findings)
			}
		}
	}
}

func TestTheFleetIsTheSameInAStreamAndInFiles(t *testing.T) {
	folder := t.TempDir()
	if err := Folder(folder, oneOfEach); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(folder, "*", "*.yaml"))
	if err != nil || len(names) != oneOfEach {
		t.Fatalf("%d files, error %v", len(names), err)
	}
	var all strings.Builder
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("---\n" + strings.TrimPrefix(string(b), "---\n"))
	}
	if all.String() != string(written(t)) {
		t.Error("they differ")
	}
}

func TestOneDocumentInEveryHundredIsACluster(t *testing.T) {
	var b bytes.Buffer
	if err := Sparse(&b, 200, 100); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "kind: Cluster\n"); n != 2 || len(yamledit.Split("sparse.yaml", b.Bytes())) != 200 {
		t.Errorf("%d clusters", n)
	}
}

func TestAFleetThatCannotBeWrittenIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Folder(file, 1); err == nil {
		t.Error("a folder was made in a file")
	}
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "000", "00000.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Folder(folder, 1); err == nil {
		t.Error("a folder was replaced by a file")
	}
}
