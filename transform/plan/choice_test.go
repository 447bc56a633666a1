// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// threeLamps has a last stage whose result is found to be wrong.
func threeLamps(doc *yamledit.Document) []transform.Stage {
	wrong := light(doc, "c")
	wrong.Check = func(transform.Cluster) error { return errors.New("another lamp went out") }
	return []transform.Stage{light(doc, "a"), light(doc, "b"), wrong}
}

func TestAChoiceNeedsTheStagesUpToItsOwn(t *testing.T) {
	for _, c := range []struct {
		name, text string
		choice     Choice
		want       []string // the stages that are planned, and nil where they cannot be
	}{
		{"the first", "a: 'off'\nb: 'off'\nc: 'off'\n", Choice{Stage: "a"}, []string{"a"}},
		{"the second and all before it", "a: 'off'\nb: 'off'\nc: 'off'\n", Choice{Stage: "b", Through: true}, []string{"a", "b"}},
		{"the second, which is done", "a: 'off'\nb: 'on'\nc: 'off'\n", Choice{Stage: "b"}, []string{"a", "b"}},
		{"the next, which is the first", "a: 'off'\nb: 'off'\nc: 'off'\n", Choice{Next: true}, []string{"a"}},
		{"the next, which is the second", "a: 'on'\nb: 'off'\nc: 'off'\n", Choice{Next: true}, []string{"a", "b"}},
		{"the next, which is the third", "a: 'on'\nb: 'on'\nc: 'off'\n", Choice{Next: true}, nil},
		{"the third", "a: 'off'\nb: 'off'\nc: 'off'\n", Choice{Stage: "c"}, nil},
		{"none, which needs all", "a: 'off'\nb: 'off'\nc: 'off'\n", Choice{}, nil},
	} {
		p, err := BuildFor(format(threeLamps), transform.Only(document(t, c.text)), transform.Target{}, c.choice)
		assert.Mustf(t, (err == nil) == (c.want != nil), "%s: %v", c.name, err)
		if err == nil {
			assert.EqualSlices(t, lists.Map(p.Steps, func(s Step) string { return s.Stage.Name }), c.want, c.name)
		}
	}
}

func TestNoMigrationBeginsThatIsKnownToGetStuck(t *testing.T) {
	for name, c := range map[string]struct {
		repaired string // the lamp that lets the last stage continue
		want     bool
	}{"it stays stuck": {"c", false}, "an earlier stage repairs it": {"b", true}} {
		stages := func(doc *yamledit.Document) []transform.Stage {
			stuck := lit("c")(doc)
			stuck.Edit = func() (*yamledit.Edit, error) {
				if doc.Root().Get(c.repaired).Value() != "on" {
					return nil, errors.New("c is stuck")
				}
				return doc.Edit(), nil
			}
			return []transform.Stage{light(doc, "a"), light(doc, "b"), stuck}
		}
		p, err := BuildFor(format(stages), transform.Only(document(t, "a: 'off'\nb: 'off'\nc: 'off'\n")), transform.Target{}, Choice{Next: true})
		assert.Mustf(t, (err == nil) == c.want, "%s: %v", name, err)
		assert.True(t, err != nil || len(p.Steps) == 2, name, "it takes two steps to see that the last one continues")
	}
}
