// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"slices"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// A stage that takes the result of an earlier one away would be written forever.
func TestWhatIsWrittenMustNotBeToDoAgain(t *testing.T) {
	swings := format(func(doc *yamledit.Document) []transform.Stage {
		b := light(doc, "b")
		b.Edit = func() (*yamledit.Edit, error) {
			e := doc.Edit()
			if doc.Root().Get("b").Value() != "on" {
				e.Set(doc.Root().Get("b"), "on")
				e.Set(doc.Root().Get("a"), "off")
			}
			return e, nil
		}
		return []transform.Stage{light(doc, "a"), b}
	})
	p, err := BuildFor(swings, transform.Only(document(t, "a: off\nb: 'off'\n")), transform.Target{}, Choice{Stage: "b", Through: true})
	assert.NilError(t, err)
	assert.ErrorContains(t, StayDone(swings, p.Steps, transform.Target{}), "l.yaml:1: stage a would still be to do after the edit")
	assert.NilError(t, StayDone(swings, p.Steps[1:], transform.Target{})) // stage a was not written
	p, err = Build(format(twoLamps), transform.Only(document(t, "a: off\nb: 'off'\n")), transform.Target{})
	assert.NilError(t, err)
	assert.NilError(t, StayDone(format(twoLamps), p.Steps, transform.Target{}))
}

// letters is a cluster whose rules dislike the letters that its fixes replace.
type letters struct {
	doc   *yamledit.Document
	fixes []transform.Fix
}

func (letters) Restarts(transform.Cluster) []transform.Restart { return nil }
func (letters) Manager() yamledit.Node                         { return yamledit.Node{} }
func (letters) Chosen() transform.Target                       { return transform.Target{} }
func (letters) Identity() transform.Identity                   { return transform.Identity{} }
func (c letters) Documents() []*yamledit.Document              { return transform.Only(c.doc) }
func (letters) Stages() []transform.Listed                     { return nil }
func (c letters) Fixes() []transform.Fix                       { return c.fixes }

func (c letters) Findings(string) []transform.Finding {
	var found []transform.Finding
	for _, n := range c.doc.Root().Items() {
		if s, _ := n.String(); s != "fine" {
			found = append(found, transform.Finding{Rule: s})
		}
	}
	return found
}

func lettersFormat(fixes func(*yamledit.Document) []transform.Fix) transform.Format {
	return transform.Format{Lint: func(docs []*yamledit.Document, _ transform.Target) (transform.Cluster, error) {
		doc := docs[0]
		if doc.Root().Len() == 0 {
			return nil, errors.New("nothing is left")
		}
		return letters{doc, fixes(doc)}, nil
	}}
}

// replace is a fix of a rule that sets the first item that reads old.
func replace(doc *yamledit.Document, rule, old, now string) transform.Fix {
	return transform.Fix{Rule: rule, Queue: func(e *yamledit.Edit) {
		for _, n := range doc.Root().Items() {
			if s, _ := n.String(); s == old {
				e.Set(n, now)
				return
			}
		}
		e.Fail(errors.New("there is nothing to fix"))
	}}
}

func TestRepairKeepsFixesThatHelp(t *testing.T) {
	for _, c := range []struct {
		name, before, want string
		fixes              func(*yamledit.Document) []transform.Fix
		made               []string
	}{
		{"each in its turn", "[a, b, a]\n", "[fine, fine, fine]\n", func(d *yamledit.Document) []transform.Fix {
			return []transform.Fix{replace(d, "a", "a", "fine"), replace(d, "b", "b", "fine")}
		}, []string{"a", "a", "b"}},
		{"one that uncovers another", "[a]\n", "[fine]\n", func(d *yamledit.Document) []transform.Fix {
			return []transform.Fix{replace(d, "a", "a", "b"), replace(d, "b", "b", "fine")}
		}, []string{"a", "b"}},
		{"none that changes nothing for its rule", "[a]\n", "[a]\n", func(d *yamledit.Document) []transform.Fix {
			return []transform.Fix{replace(d, "b", "a", "b")}
		}, nil},
		{"none that cannot be made", "[a]\n", "[a]\n", func(d *yamledit.Document) []transform.Fix {
			return []transform.Fix{replace(d, "a", "c", "fine"), {Rule: "a", Queue: func(e *yamledit.Edit) { e.Remove(d.Root()) }}}
		}, nil},
		{"none after which nothing can be read", "[a]\n", "[a]\n", func(d *yamledit.Document) []transform.Fix {
			return []transform.Fix{{Rule: "a", Queue: func(e *yamledit.Edit) { e.Remove(d.Root().Items()[0]) }}}
		}, nil},
	} {
		d := lettersFormat(c.fixes)
		before := assert.Value(d.Lint(transform.Only(document(t, c.before)), transform.Target{}))(t)
		after, made := Repair(d, before, transform.Target{})
		got := string(after.Documents()[0].Bytes())
		assert.Truef(t, got == c.want && slices.Equal(made, c.made), "%s: %q by %v", c.name, got, made)
	}
}

// Fixes that undo each other end all the same.
func TestRepairEnds(t *testing.T) {
	d := lettersFormat(func(doc *yamledit.Document) []transform.Fix {
		return []transform.Fix{replace(doc, "a", "a", "b"), replace(doc, "b", "b", "a")}
	})
	before := assert.Value(d.Lint(transform.Only(document(t, "[a]\n")), transform.Target{}))(t)
	_, made := Repair(d, before, transform.Target{})
	assert.Truef(t, len(made) == mostFixes, "%d fixes", len(made))
}
