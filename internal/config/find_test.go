// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// tree makes files in a folder of their own; a name that ends with a slash is a folder.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	top := t.TempDir()
	for _, name := range names {
		path := filepath.Join(top, name)
		dir := path
		if name[len(name)-1] != '/' {
			dir = filepath.Dir(path)
		}
		assert.NilError(t, os.MkdirAll(dir, 0o755))
		if dir != path && name[len(name)-1] != '/' {
			assert.NilError(t, os.WriteFile(path, nil, 0o644))
		}
	}
	return top
}

func TestTheNearestFileUpToTheTopOfTheRepositoryCounts(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		from  string
		want  string
	}{
		{"in the folder", []string{"r/.git/", "r/.rke-lm.yaml", "r/a/.rke-lm.yaml"}, "r/a", "r/a/.rke-lm.yaml"},
		{"at the top", []string{"r/.git/", "r/.rke-lm.yaml", "r/a/b/"}, "r/a/b", "r/.rke-lm.yaml"},
		{"in a worktree, where .git is a file", []string{"r/.git", "r/.rke-lm.yaml", "r/a/"}, "r/a", "r/.rke-lm.yaml"},
		{"above the repository", []string{".rke-lm.yaml", "r/.git/", "r/a/"}, "r/a", ""},
		{"outside of a repository", []string{".rke-lm.yaml", "a/"}, "a", ""},
		{"in a folder without a repository", []string{"a/.rke-lm.yaml"}, "a", "a/.rke-lm.yaml"},
		{"in the home folder", []string{"home/.git/", "home/.rke-lm.yaml", "home/a/"}, "home/a", ""},
		{"in the home folder itself", []string{"home/.rke-lm.yaml"}, "home", ""},
		{"below the home folder", []string{"home/.git/", "home/a/.rke-lm.yaml"}, "home/a", "home/a/.rke-lm.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := tree(t, c.files...)
			want := ""
			if c.want != "" {
				want = assert.Value(filepath.Rel(c.from, c.want))(t)
			}
			t.Setenv("HOME", filepath.Join(top, "home"))
			t.Chdir(filepath.Join(top, c.from))
			got, err := Here()
			assert.Truef(t, err == nil && got == want, "%q, %v; want %q", got, err, want)
		})
	}
}
