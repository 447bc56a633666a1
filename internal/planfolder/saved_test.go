// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package planfolder

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// harbour is a plan with every field set.
func harbour() plan.Saved {
	return plan.Saved{
		Cluster: transform.Identity{Format: "rke2", Namespace: "fleet-default", Name: "harbour", Version: "v1.26.15+rke2r1"},
		Source:  plan.SavedSource{File: "c.yaml", Path: "/here/c.yaml", Document: 2},
		Target: transform.Target{
			EndState: "external", Version: "v1.27.16+rke2r1", AssumeVersion: "v1.26.15+rke2r1", Accept: []string{"node-rename"},
			ChartVersion: "0.0.8", ChartRepo: "https://example.com", ImageRepository: "example.com/ccm", ImageTag: "v1.26.6",
			KeepLeaderMigration: true, NoLeaderMigration: true, Cordon: "never",
		},
		Steps: []plan.Step{{
			Stage: transform.Stage{Name: "grant-migration-lease"}, State: plan.Todo,
			Documents: []plan.Revision{{
				BeforeSum: "b", AfterSum: "a",
				Splices: []yamledit.Splice{{Start: 1, End: 2, New: "x: \"<é\u2028>\"\n"}},
				Reverse: []yamledit.Splice{{Start: 1, End: 3, New: ""}},
			}},
			Findings: []transform.Finding{{Rule: "r", Severity: transform.Note, File: "c.yaml", Line: 1, Message: "m", Accepted: true}},
		}},
	}
}

func named(names ...string) []action.File {
	return lists.Map(names, func(n string) action.File { return action.File{Name: n, Content: "content of " + n} })
}

func TestAPlanIsReadAsItWasWritten(t *testing.T) {
	root := t.TempDir()
	path, err := Write(root, harbour(), named("runbook.md"), false)
	assert.Must(t, err == nil && path == filepath.Join(root, "fleet-default", "harbour"), path, err)
	for _, folder := range []string{root, path} {
		plans := assert.Value(Read(folder))(t)
		assert.DeepEqual(t, encode(plans[0], nil), encode(harbour(), nil), folder)
		assert.True(t, reflect.DeepEqual(plans, []plan.Saved{harbour()}), folder, plans)
	}
	assert.Equal(t, string(assert.Value(os.ReadFile(filepath.Join(path, "runbook.md")))(t)), "content of runbook.md")
}

func TestOnlyTheUserReadsAPlan(t *testing.T) {
	root := filepath.Join(t.TempDir(), "made", "by us")
	assert.Value(Write(root, harbour(), named("runbook.md"), false))(t)
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		assert.NilError(t, err)
		info := assert.Value(e.Info())(t)
		want := os.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		assert.Truef(t, info.Mode().Perm() == want, "%s has the mode %o", path, info.Mode().Perm())
		return nil
	})
	assert.NilError(t, err)
}

func TestAFolderThatIsThereKeepsItsMode(t *testing.T) {
	root := t.TempDir()
	assert.NilError(t, os.Chmod(root, 0o755))
	assert.Value(Write(root, harbour(), nil, false))(t)
	assert.Equal(t, assert.Value(os.Stat(root))(t).Mode().Perm(), 0o755)
}

func TestAPlanOfTheSameClusterIsReplacedAsAWhole(t *testing.T) {
	root := t.TempDir()
	assert.Value(Write(root, harbour(), named("old.diff", "runbook.md"), false))(t)
	next := harbour()
	next.Cluster.Version = "v1.27.16+rke2r1"
	path := assert.Value(Write(root, next, named("new.diff", "runbook.md"), false))(t)
	assert.DeepEqual(t, namesIn(t, path), []string{"new.diff", PlanFile, "runbook.md"})
	assert.DeepEqual(t, namesIn(t, filepath.Dir(path)), []string{"harbour"}, "something is left next to it (-want +got)")
}

func TestWhatIsNotAPlanOfTheClusterIsNeverTouched(t *testing.T) {
	other := harbour()
	other.Cluster.Format = "rke1"
	for name, prepare := range map[string]func(path string) error{
		"an empty folder":          func(path string) error { return os.MkdirAll(path, 0o700) },
		"a file":                   func(path string) error { return putFile(path, "text") },
		"a folder of other things": func(path string) error { return putFile(filepath.Join(path, "notes.md"), "notes") },
		"a plan with a note": func(path string) error {
			_, err := Write(filepath.Dir(filepath.Dir(path)), harbour(), nil, false)
			return errors.Join(err, os.WriteFile(filepath.Join(path, "notes.md"), []byte("notes"), 0o600))
		},
		"a plan of another cluster": func(path string) error {
			_, err := Write(filepath.Dir(filepath.Dir(path)), other, nil, false)
			return err
		},
		"a plan of another tool": func(path string) error { return putFile(filepath.Join(path, PlanFile), `{"kind":"SavedPlan"}`) },
		"a plan that is cut off": func(path string) error { return putFile(filepath.Join(path, PlanFile), `{"kind":`) },
		"a link to a plan": func(path string) error {
			elsewhere, err := Write(filepath.Dir(filepath.Dir(path))+"-else", harbour(), nil, false)
			return errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(elsewhere, path))
		},
	} {
		root := filepath.Join(t.TempDir(), "plans")
		path := filepath.Join(root, Place(harbour()))
		assert.NilError(t, prepare(path))
		before := snapshot(t, root)
		_, err := Write(root, harbour(), named("runbook.md"), false)
		assert.Truef(t, errors.Is(err, ErrForeign) && transform.ExitCodeOf(err) == transform.ExitRefused && strings.HasSuffix(err.Error(), " with --out"), "%s: got %v", name, err)
		assert.DeepEqual(t, snapshot(t, root), before, name, "it was touched (-before +after)")
	}
}

func putFile(path, text string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
}

func TestPlacesAreFoldersEverywhere(t *testing.T) {
	for _, c := range []struct{ namespace, name, file, want string }{
		{"fleet-default", "harbour", "c.yaml", "fleet-default/harbour"},
		{"", "harbour", "c.yaml", "default/harbour"},
		{"", "", "clusters/my cluster.yaml", "default/my-cluster-3"},
		{"", "", "<stdin>", "default/-stdin--3"},
		{"..", "../x", "c.yaml", "-./-.-x"},
		{"a/b", "c\\d", "c.yaml", "a-b/c-d"},
		{"ns", ".hidden", "c.yaml", "ns/-hidden"},
		{"ns", "ünï\n", "c.yaml", "ns/-n--"},
	} {
		s := plan.Saved{Cluster: transform.Identity{Namespace: c.namespace, Name: c.name}, Source: plan.SavedSource{File: c.file, Document: 3}}
		assert.Equal(t, filepath.ToSlash(Place(s)), c.want, c.namespace, c.name, c.file)
	}
}

// Many a cluster without a name is the cluster.yml of its folder.
func TestClustersWithoutANameAreDistinguishedByTheirFolders(t *testing.T) {
	places := map[string]bool{}
	for _, path := range []string{"/clusters/heron/cluster.yml", "/clusters/dunlin/cluster.yml"} {
		places[filepath.ToSlash(Place(plan.Saved{Source: plan.SavedSource{File: "cluster.yml", Path: path}}))] = true
	}
	assert.True(t, places["default/heron-cluster-0"] && places["default/dunlin-cluster-0"], places)
}

func TestFoldersWithoutAPlanAreRefused(t *testing.T) {
	root := t.TempDir()
	broken := filepath.Join(root, "broken")
	assert.NilError(t, putFile(filepath.Join(broken, "ns", "c", PlanFile), "{"))
	hidden := filepath.Join(root, "hidden")
	assert.NilError(t, putFile(filepath.Join(hidden, "ns", ".rke-lm-1.tmp", PlanFile), "{"))
	for folder, want := range map[string]string{
		filepath.Join(root, "missing"): ": no such plan folder; use one from plan --out",
		hidden:                         ": it has no plan; use a folder from plan --out",
		filepath.Join(broken, "ns", "c", PlanFile): ": not a directory",
		broken: "plan.json: cannot read the plan: not JSON: unexpected end of JSON input; plan again with --out",
	} {
		_, err := Read(folder)
		assert.Truef(t, err != nil && strings.HasSuffix(err.Error(), want), "%s: %v", folder, err)
	}
}

func namesIn(t *testing.T, folder string) []string {
	t.Helper()
	return lists.Map(assert.Value(os.ReadDir(folder))(t), os.DirEntry.Name)
}

// snapshot returns the content of all files below a folder.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	content := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			content[path] = e.Type().String()
			return err
		}
		text, err := os.ReadFile(path)
		content[path] = string(text)
		return err
	})
	assert.NilError(t, err)
	return content
}

// A run may be killed at any point: what it has left goes with the next one, also if that writes nothing.
func TestWhatAKilledRunHasLeftGoes(t *testing.T) {
	for name, placed := range map[string]bool{"between the two renames": false, "after them": true} {
		root := t.TempDir()
		path := assert.Value(Write(root, harbour(), named("runbook.md"), false))(t)
		old := path
		if placed {
			old = assert.Value(Write(t.TempDir(), harbour(), named("runbook.md"), false))(t)
		}
		assert.NilError(t, os.Rename(old, filepath.Join(filepath.Dir(path), ".rke-lm-1.tmp.old")))
		_, err := Write(root, harbour(), named("not/there"), false)
		says := err.Error()
		assert.True(t, strings.HasPrefix(says, path+": the plan was not written: ") && strings.HasSuffix(says, "; free disk space, or use another folder"), says)
		assert.DeepEqual(t, namesIn(t, filepath.Dir(path)), []string{"harbour"}, name)
		assert.Value(Read(path))(t)
	}
}

// Neither a name nor a content alone makes a file one of a plan.
func TestAPlanListsItsFilesByNameAndContent(t *testing.T) {
	path := assert.Value(Write(t.TempDir(), harbour(), named("00-start.yaml", "runbook.md"), false))(t)
	text := assert.Value(os.ReadFile(filepath.Join(path, PlanFile)))(t)
	for _, c := range []struct {
		name, content string
		want          bool
	}{
		{"00-start.yaml", "content of 00-start.yaml", true},
		{"00-start.yaml", "kind: Cluster", false},
		{"01-start.yaml", "content of 00-start.yaml", false},
		{PlanFile, string(text), false},
	} {
		_, got := Lists(text, c.name, []byte(c.content))
		assert.Truef(t, got == c.want, "%s with %.20q: %t", c.name, c.content, got)
	}
	_, listed := Lists([]byte(`{"kind":"SavedPlan","sha256":{"a.yaml":""}}`), "a.yaml", nil)
	assert.True(t, !listed, "the plan of another version lists files")
}
