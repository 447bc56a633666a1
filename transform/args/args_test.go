// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestTheLastOccurrenceCounts(t *testing.T) {
	list := Of([]any{"--v=2", "enable-leader-migration", "v=4", float64(7)})
	a, _ := Last(list, "v")
	assert.Truef(t, a.Value == "4", "v is %q", a.Value)
	a, ok := Last(list, "enable-leader-migration")
	assert.True(t, ok && a.True(), "a bare flag is not true")
	_, ok = Last(list, "absent")
	assert.True(t, !ok, "an absent flag was found")
	assert.Equal(t, len(Without(list, "v")), 2)
}

func TestOneFlagIsEditedInEverySpelling(t *testing.T) {
	on := Update{Set: []Arg{On("f")}}.Apply
	off := Update{Remove: []string{"f"}}.Apply
	aws := Update{Set: []Arg{With("cloud-provider", "external")}}.Apply
	both := Update{Remove: []string{"f"}, Set: []Arg{With("cloud-provider", "external")}}.Apply
	for _, c := range []struct {
		name, in, want string
		change         func(*yamledit.Edit, yamledit.Node)
	}{
		{"a list gains the flag", "a:\n  - v=2\n", "a:\n  - v=2\n  - f\n", on},
		{"a list of dashed arguments gains it with dashes", "a: [--v=2]\n", "a: [--v=2, --f]\n", on},
		{"an empty list gains it", "a: []\n", "a:\n  - f\n", on},
		{"a string becomes a list", "a: v=2\n", "a:\n  - v=2\n  - f\n", on},
		{"an empty string becomes a list", "a: \"\"\n", "a:\n  - f\n", on},
		{"a null becomes a list", "a:\n", "a:\n  - f\n", on},
		{"a flag that is on stays", "a: [--f=true]\n", "a: [--f=true]\n", on},
		{"a bare flag in a string stays", "a: f\n", "a: f\n", on},
		{"a flag that is off is switched on in place", "a: [f=false, v=2]\n", "a: [f=true, v=2]\n", on},
		{"the flag leaves a list, in all spellings", "a: [v=2, f, --f=false]\n", "a: [v=2]\n", off},
		{"the flag leaves a string", "a: f\n", "a: \"\"\n", off},
		{"another flag that starts alike stays", "a: [ff, f-g=1]\n", "a: [ff, f-g=1]\n", off},
		{"one flag goes while another comes, in a list", "a:\n  - f\n", "a:\n  - cloud-provider=external\n", both},
		{"one flag goes while another comes, in a string", "a: f\n", "a: cloud-provider=external\n", both},
		{"a value in a string is replaced", "a: cloud-provider=aws\n", "a: cloud-provider=external\n", aws},
		{"a value is replaced and keeps its dashes", "a:\n  - --cloud-provider=aws # why\n", "a:\n  - --cloud-provider=external # why\n", aws},
	} {
		d := assert.Value(yamledit.ParseString("in.yaml", c.in))(t)
		assert.Equal(t, edited(t, d, func(e *yamledit.Edit) { c.change(e, d.Root().Get("a")) }), c.want, c.name)
	}
}

func TestArgumentsThatRancherDropsAreRefused(t *testing.T) {
	for _, in := range []string{"a: {v: 2}\n", "a: 7\n"} {
		d := assert.Value(yamledit.ParseString("in.yaml", in))(t)
		e := d.Edit()
		Update{Set: []Arg{On("f")}}.Apply(e, d.Root().Get("a"))
		assert.ErrorContains(t, e.Err(), "in.yaml:1: a: ", in)
	}
}
