// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestALineBelongsToTheInnermostNode(t *testing.T) {
	const text = "a: 1\nb:\n  c:\n    - d: 2\n      e: |\n        text: 3\n        more\n  # of f\n  f: {g: 4, h: [5, 6]}\n\ni: &x\n  j: 7\nk: *x\n"
	d := assert.Value(Parse(Chunk{File: "c.yaml", Line: 10, Bytes: []byte(text)}))(t)
	for line, want := range map[int]string{
		1: "", 10: "", 11: "a", 12: "b", 13: "b.c", 14: "b.c[0].d", 15: "b.c[0].e", 16: "b.c[0].e", 17: "b.c[0].e", 18: "b.c[0].e", 19: "b.f",
		21: "i", 22: "i.j", 23: "k", 99: "k",
	} {
		assert.Equal(t, d.At(line).Path(), want, "line", line)
	}
	one, err := Parse(Chunk{File: "c.json", Bytes: []byte(`{"a": {"b": 1, "c": 2}}`)})
	assert.Truef(t, err == nil && one.At(1).Path() == "a", "%v: two entries on a line", err)
}
