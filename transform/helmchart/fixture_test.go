// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// sources reads manifests, and chartValues where they are given.
func sources(t *testing.T, manifests, chartValues string) Sources {
	t.Helper()
	s := Sources{Fields: Fields{Values: true, ValuesSecrets: true}}
	for _, c := range yamledit.Split("m.yaml", []byte(manifests)) {
		s.Docs = append(s.Docs, assert.Value(yamledit.Parse(c))(t))
	}
	s.ChartValues = assert.Value(yamledit.ParseString("c.yaml", chartValues))(t).Root()
	return s
}

// own are the values of the charts of these tests.
func own(Reference) map[string]any {
	return map[string]any{"args": []any{"--own"}, "image": map[string]any{"tag": "v0"}, "select": map[string]any{"a": ""}}
}

// released reads the only HelmChart among the manifests.
func released(t *testing.T, s Sources) Release {
	t.Helper()
	charts := Charts(s.Docs)
	assert.Mustf(t, len(charts) == 1, "%d charts", len(charts))
	return assert.Value(s.Read(charts[0], own))(t)
}

// packed returns chartContent with files in a folder.
func packed(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Name: "folder/" + name, Typeflag: tar.TypeReg, Size: int64(len(files[name])), Mode: 0o644}
		assert.NilError(t, archive.WriteHeader(h))
		_, err := archive.Write([]byte(files[name]))
		assert.NilError(t, err)
	}
	assert.NilError(t, archive.Close())
	assert.NilError(t, zipped.Close())
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// indent puts a text below a key.
func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}
