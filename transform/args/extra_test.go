// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestExtraArgumentsChange(t *testing.T) {
	on, off := Update{Set: []Arg{On("f")}}, Update{Remove: []string{"f"}}
	aws := Update{Set: []Arg{With("cloud-provider", "external")}}
	for _, c := range []struct {
		name, in, want string
		change         Update
	}{
		{"a mapping gains a string", "x:\n  a: \"1\"\n", "x:\n  a: \"1\"\n  f: \"true\"\n", on},
		{"a sorted mapping stays sorted", "x:\n  a: b\n  e: b\n  g: b\n", "x:\n  a: b\n  e: b\n  f: \"true\"\n  g: b\n", on},
		{"a list gains a name and a value", "x:\n- name: a\n  value: \"1\"\n", "x:\n- name: a\n  value: \"1\"\n- name: f\n  value: \"true\"\n", on},
		{"one that is off is switched on in place", "x: {f: \"false\"}\n", "x: {f: \"true\"}\n", on},
		{"one that is on stays", "x: {f: \"1\"}\n", "x: {f: \"1\"}\n", on},
		{"it leaves a mapping", "x:\n  a: \"1\"\n  f: \"true\"\n", "x:\n  a: \"1\"\n", off},
		{"it leaves a list", "x:\n- name: f\n  value: \"true\"\n- name: a\n  value: b\n", "x:\n- name: a\n  value: b\n", off},
		{"a value is replaced in a mapping", "x:\n  cloud-provider: aws # why\n", "x:\n  cloud-provider: external # why\n", aws},
		{"a value is replaced in a list", "x:\n- name: cloud-provider\n  value: aws\n", "x:\n- name: cloud-provider\n  value: external\n", aws},
	} {
		d := assert.Value(yamledit.ParseString("in.yaml", c.in))(t)
		read := assert.Value(ReadExtra(d.Root().Get("x")))(t)
		assert.Equal(t, edited(t, d, func(e *yamledit.Edit) { read.Apply(e, c.change) }), c.want, c.name)
	}
}

func TestExtraArgumentsThatKubeadmDoesNotTakeAreRefused(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a boolean", "x: {f: true}\n", "in.yaml:1: x.f: not a flag with a string as its value"},
		{"an item without a name", "x: [{value: a}]\n", "in.yaml:1: x[0]: not a flag with a string as its value"},
		{"a string", "x: f\n", "in.yaml:1: x: neither a mapping nor a list"},
	} {
		d := assert.Value(yamledit.ParseString("in.yaml", c.in))(t)
		_, err := ReadExtra(d.Root().Get("x"))
		assert.Truef(t, err != nil && strings.HasPrefix(err.Error(), c.want), "%s: got %v, want %s", c.name, err, c.want)
	}
}

func TestAMappingIsReadAsItIsWritten(t *testing.T) {
	doc := assert.Value(yamledit.ParseString("c.yaml", "a: true\nb: '2'\nc: 0644\nd:\ne: [x, y]\nf: yes # here\n"))(t)
	texts := lists.Map(OfMap(doc.Root()), func(a Arg) string { return a.Text })
	assert.EqualSlices(t, texts, []string{"a=true", "b=2", "c=0644", "d=", "e=x", "e=y", "f=yes"})
	a, found := Last(OfMap(doc.Root()), "e")
	assert.True(t, found && a.Value == "y" && a.Node().Line() == 5, a)
	_, found = Last(OfMap(doc.Root()), "g")
	assert.True(t, !found, "g")
}

func TestAMappingChangesInOneFlag(t *testing.T) {
	for _, c := range []struct {
		name, text string
		change     Update
		want       string
	}{
		{"a new flag is a string", "v: 2\n", Update{Set: []Arg{On("x")}}, "v: 2\nx: \"true\"\n"},
		{"one that is there keeps its quotes", "x: 'false' # here\nv: 2\n", Update{Set: []Arg{On("x")}}, "x: 'true' # here\nv: 2\n"},
		{"one that holds already", "x: true\n", Update{Set: []Arg{On("x")}}, "x: true\n"},
		{"every occurrence of a list", "x: [a, b]\n", Update{Set: []Arg{With("x", "c")}}, "x: [c, c]\n"},
		{"an empty list", "x: []\n", Update{Set: []Arg{With("x", "c")}}, "x: c\n"},
		{"a flag goes", "v: 2\nx: true\n", Update{Remove: []string{"x", "y"}}, "v: 2\n"},
	} {
		doc := assert.Value(yamledit.ParseString("c.yaml", c.text))(t)
		assert.Equal(t, edited(t, doc, func(e *yamledit.Edit) { c.change.ApplyMap(e, doc.Root()) }), c.want, c.name)
	}
}
