// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"testing"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestAMappingIsReadAsItIsWritten(t *testing.T) {
	doc, err := yamledit.ParseString("c.yaml", "a: true\nb: '2'\nc: 0644\nd:\ne: [x, y]\nf: yes # here\n")
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, a := range OfMap(doc.Root()) {
		got += a.Text + ";"
	}
	if got != "a=true;b=2;c=0644;d=;e=x;e=y;f=yes;" {
		t.Error(got)
	}
	if a, found := LastPlaced(OfMap(doc.Root()), "e"); !found || a.Value != "y" || a.Node.Line() != 5 {
		t.Errorf("%+v", a)
	}
	if _, found := LastPlaced(OfMap(doc.Root()), "g"); found {
		t.Error("g")
	}
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
		doc, err := yamledit.ParseString("c.yaml", c.text)
		if err != nil {
			t.Fatal(err)
		}
		e := doc.Edit()
		c.change.ApplyMap(e, doc.Root())
		after, _, err := e.Apply()
		if err != nil || string(after.Bytes()) != c.want {
			t.Errorf("%s: %v\n%s", c.name, err, after.Bytes())
		}
	}
}
