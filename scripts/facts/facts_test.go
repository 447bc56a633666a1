// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/internal/assert"
)

const tablesFolder = "../../transform/rke2/effective"

func read(t *testing.T, path ...string) string {
	t.Helper()
	text := assert.Value(os.ReadFile(filepath.Join(path...)))(t)
	return string(text)
}

// folderWith returns a folder with tables of this text.
func folderWith(t *testing.T, releases, arguments string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"releases.tsv": releases, "arguments.tsv": arguments} {
		assert.NilError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return folder
}

// What is in the tables is what this program writes.
func TestTheTablesAreAsTheyAreWritten(t *testing.T) {
	r, a := read(t, tablesFolder, "releases.tsv"), read(t, tablesFolder, "arguments.tsv")
	there := assert.Value(parseTables(r, a))(t)
	releases, arguments, err := there.render()
	diff := cmp.Diff(r+a, releases+arguments)
	assert.Truef(t, err == nil && diff == "", "%v (-there +written):\n%s", err, diff)
}

func TestMetadataBecomesTables(t *testing.T) {
	folder := folderWith(t, datePrefix+"2025-01-31\nv1.22.17+rke2r1\tb\nv1.26.15+rke2r1\tb\n", "kubelet-arg\tarray\tagent\tb\n")
	var out strings.Builder
	assert.NilError(t, run(&out, "testdata/data.json", "2026-07-31", folder))
	want := map[string]string{
		"releases.tsv": releasesHeader + datePrefix + `2026-07-31
v1.19.16+rke2r1	a
v1.22.17+rke2r1	b
v1.26.9+rke2r2	c
v1.26.15+rke2r1	c
v1.33.5+rke2r1	d
`,
		"arguments.tsv": argumentsHeader + `cloud-provider-name	enum	agent	cd
disable-cloud-controller	bool	server	d
kube-apiserver-arg	array	server	cd
kube-proxy-arg	array	agent	d
kube-proxy-arg	array	server	d
kubelet-arg	array	agent	b
node-name-from-cloud-provider-metadata	boolean	server	d
`,
	}
	for name, text := range want {
		assert.DeepEqual(t, read(t, folder, name), text, name)
	}
	assert.DeepEqual(t, out.String(), `v1.19.16+rke2r1: new
v1.26.9+rke2r2: new
v1.26.15+rke2r1: +cloud-provider-name (agent, enum) +kube-apiserver-arg (server, array) -kubelet-arg (agent, array)
v1.33.5+rke2r1: new
5 releases, 4 changes, metadata of 2026-07-31
`)
	out.Reset()
	err := run(&out, "testdata/data.json", "2026-07-31", folder)
	assert.Truef(t, err == nil && out.String() == "5 releases, 0 changes, metadata of 2026-07-31\n", "a second run: %v, %s", err, out.String())
	assert.Equal(t, read(t, folder, "releases.tsv"), want["releases.tsv"], "a second run writes other bytes")
}

func TestTheDayIsTheFilesOwnUnlessItIsGiven(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data.json")
	day := time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)
	assert.NilError(t, os.WriteFile(data, []byte(read(t, "testdata", "data.json")), 0o600))
	assert.NilError(t, os.Chtimes(data, day, day))
	folder := folderWith(t, "", "")
	if err := run(&strings.Builder{}, data, "", folder); err != nil || !strings.Contains(read(t, folder, "releases.tsv"), "\n# date: 2026-03-09\n") {
		t.Error(err, read(t, folder, "releases.tsv"))
	}
}

func TestWhatIsNoMetadataIsRefusedAndNothingIsWritten(t *testing.T) {
	for want, c := range map[string]struct{ data, date string }{
		"no releases below rke2.releases":   {`{"k3s": {}}`, "2026-07-31"},
		"unexpected end of JSON":            {`{`, "2026-07-31"},
		"is no release of RKE2":             {`{"rke2": {"releases": [{"version": "v1.26.15+k3s1"}]}}`, "2026-07-31"},
		`has the type "float", which is no`: {`{"rke2": {"releases": [{"version": "v1.26.15+rke2r1", "serverArgs": {"a": {"type": "float"}}}]}}`, "2026-07-31"},
		"is no name of an argument":         {`{"rke2": {"releases": [{"version": "v1.26.15+rke2r1", "agentArgs": {"a b": {"type": "string"}}}]}}`, "2026-07-31"},
		"is no day":                         {`{"rke2": {"releases": [{"version": "v1.26.15+rke2r1"}]}}`, "soon"},
		"the tables are of 2026-01-31":      {`{"rke2": {"releases": [{"version": "v1.26.15+rke2r1"}]}}`, "2025-07-31"},
	} {
		data := filepath.Join(t.TempDir(), "data.json")
		assert.NilError(t, os.WriteFile(data, []byte(c.data), 0o600))
		folder := folderWith(t, datePrefix+"2026-01-31\n", "")
		assert.ErrorContains(t, run(&strings.Builder{}, data, c.date, folder), want)
		assert.Truef(t, read(t, folder, "releases.tsv") == datePrefix+"2026-01-31\n", "%s: the tables were written", want)
	}
	assert.ErrorContains(t, run(&strings.Builder{}, "", "", "."), "make facts FROM=data.json")
}
