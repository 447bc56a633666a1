// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/review"
)

var known = map[string]Kind{"end-state": Text, "chart-version": Text, "target-version": Text, "keep-leader-migration": Bool, "accept": List}

func read(t *testing.T, text string) ([]review.Setting, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	assert.NilError(t, os.WriteFile("rke-lm.yaml", []byte(text), 0o600))
	return Read("rke-lm.yaml", known)
}

func TestAFileHoldsFlagsByTheirNames(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []review.Setting
	}{
		{"of every kind", "# ours\nend-state: external\nkeep-leader-migration: yes\naccept: [node-rename, 'cloud-config-lost']\n", []review.Setting{
			{Key: "end-state", Values: []string{"external"}, Lines: []int{2}}, {Key: "keep-leader-migration", Values: []string{"true"}, Lines: []int{3}}, {Key: "accept", Values: []string{"node-rename", "cloud-config-lost"}, Lines: []int{4, 4}},
		}},
		{"a version that is no number", "chart-version: 0.0.8\n", []review.Setting{{Key: "chart-version", Values: []string{"0.0.8"}, Lines: []int{1}}}},
		{"an empty list", "accept: []\n", []review.Setting{{Key: "accept", Values: nil, Lines: nil}}},
		{"nothing", "", nil},
		{"only comments", "# end-state: external\n", nil},
		{"in JSON", `{"end-state": "external"}`, []review.Setting{{Key: "end-state", Values: []string{"external"}, Lines: []int{1}}}},
	} {
		got, err := read(t, c.text)
		diff := cmp.Diff(c.want, got)
		assert.Truef(t, err == nil && diff == "", "%s: %v (-want +got):\n%s", c.name, err, diff)
	}
}

func TestMistakesAreNamedWithTheirLine(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a key with a typing mistake", "end-state: external\ntarget-verison: v1\n", "rke-lm.yaml:2: target-verison: not a migration option; did you mean target-version?"},
		{"a key in camel case", "endState: external\n", "rke-lm.yaml:1: endState: not a migration option; did you mean end-state?"},
		{"a key with underscores", "keep_leader_migration: true\n", "did you mean keep-leader-migration?"},
		{"a key like no other", "frobnicate: 1\n", "rke-lm.yaml:1: frobnicate: not a migration option; use the name of a migration option without dashes; plan --help lists them"},
		{"a number for a string", "chart-version: 1.26\n", "rke-lm.yaml:1: chart-version: this must be a string; quote it"},
		{"a null for a string", "end-state:\n", "end-state: this must be a string"},
		{"a word for a boolean", "keep-leader-migration: sure\n", "keep-leader-migration: this must be true or false; correct it"},
		{"a word for a list", "accept: node-rename\n", "accept: this must be a list of strings"},
		{"a number in a list", "accept: [1]\n", "accept: this must be a list of strings"},
		{"a key twice", "end-state: external\nend-state: aws-override\n", `rke-lm.yaml:2: the key "end-state" is duplicated`},
		{"a list", "- end-state\n", "rke-lm.yaml:1: not a mapping of flags to values"},
		{"two documents", "end-state: external\n---\nend-state: external\n", "a second document"},
		{"an alias of another type", "accept: &a [node-rename]\nend-state: *a\n", "end-state: this must be a string"},
		{"no YAML", "end-state: [\n", "rke-lm.yaml:"},
	} {
		got, err := read(t, c.text)
		assert.Truef(t, err != nil && got == nil && strings.Contains(err.Error(), c.want), "%s:\n got: %v\nwant: %s", c.name, err, c.want)
	}
}

func TestAMissingFileIsAnError(t *testing.T) {
	_, err := Read(filepath.Join(t.TempDir(), "none"), known)
	assert.True(t, err != nil && strings.HasSuffix(err.Error(), "none: no such file or directory; check the path and its permissions"), err)
}

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
