// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// oneOfEach is a number of clusters that has all kinds of them at all versions.
const oneOfEach = 80

// What is measured would mean little if clusters were refused.
func TestEveryStageAppliesToTheFleet(t *testing.T) {
	for _, c := range yamledit.Split("fleet.yaml", []byte(Stream(oneOfEach))) {
		d := assert.Value(transform.Parse(c))(t)
		p := assert.Value(plan.Build(rke2.Format(), transform.Only(d), transform.Target{}))(t)
		for _, s := range p.Steps {
			assert.Truef(t, s.Stage.Edit == nil || s.State == plan.Todo, "%s: %s is %s: %v", p.Cluster.Name, s.Stage.Name, s.State, s.Findings)
		}
	}
}

func TestOneFileInEveryHundredIsACluster(t *testing.T) {
	folder := t.TempDir()
	assert.NilError(t, Tree(folder, 200))
	files, clusters := 0, 0
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(folder, name))
		files, clusters = files+1, clusters+strings.Count(string(text), "kind: Cluster\n")
		return err
	})
	assert.Truef(t, err == nil && files == 200 && clusters == 2, "%d files, %d clusters, error %v", files, clusters, err)
}

func TestAFleetThatCannotBeWrittenIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	assert.NilError(t, os.WriteFile(file, nil, 0o600))
	err := Folder(file, 1)
	assert.True(t, err != nil, "a folder was made in a file")
	folder := t.TempDir()
	assert.NilError(t, os.MkdirAll(filepath.Join(folder, "000", "00000.yaml"), 0o755))
	err = Folder(folder, 1)
	assert.True(t, err != nil, "a folder was replaced by a file")
}
