// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// lamps is a cluster of the simplest kind: a mapping whose values stages set.
type lamps struct {
	doc      *yamledit.Document
	stages   func(*yamledit.Document) []transform.Stage
	findings func(doc *yamledit.Document, stage string) []transform.Finding
}

func (l lamps) Restarts(transform.Cluster) []transform.Restart { return nil }
func (l lamps) Manager() yamledit.Node                         { return yamledit.Node{} }
func (l lamps) Chosen() transform.Target                       { return transform.Target{} }
func (l lamps) Identity() transform.Identity                   { return transform.Identity{Format: "lamps"} }
func (l lamps) Documents() []*yamledit.Document                { return transform.Only(l.doc) }
func (l lamps) Stages() []transform.Listed {
	return lists.Map(l.stages(l.doc), func(s transform.Stage) transform.Listed {
		return transform.List(s.Name, func() transform.Stage { return s })
	})
}

func (l lamps) Findings(s string) []transform.Finding { return l.findings(l.doc, s) }

// light returns a stage that is done when its lamp is on.
func light(doc *yamledit.Document, lamp string, supersededBy ...string) transform.Stage {
	return transform.Stage{
		Name:         lamp,
		SupersededBy: supersededBy,
		Change: transform.Change{Edit: func() (*yamledit.Edit, error) {
			e := doc.Edit()
			if doc.Root().Get(lamp).Value() != "on" {
				e.Set(doc.Root().Get(lamp), "on")
			}
			return e, nil
		}, Check: func(transform.Cluster) error { return nil }},
	}
}

// lit returns a stage that is done.
func lit(name string) func(*yamledit.Document) transform.Stage {
	return func(doc *yamledit.Document) transform.Stage {
		return transform.Stage{Name: name, Change: transform.Change{Edit: func() (*yamledit.Edit, error) { return doc.Edit(), nil }}}
	}
}

func format(stages func(*yamledit.Document) []transform.Stage) transform.Format {
	quiet := func(*yamledit.Document, string) []transform.Finding { return nil }
	return warning(stages, quiet)
}

func warning(stages func(*yamledit.Document) []transform.Stage, findings func(*yamledit.Document, string) []transform.Finding) transform.Format {
	return transform.Format{Name: "lamps", Open: func(docs []*yamledit.Document, _ transform.Target) (transform.Cluster, error) {
		doc := docs[0]
		if doc.Root().Get("broken").Value() == "on" {
			return nil, doc.Root().Errorf("broken", "repair it")
		}
		return lamps{doc, stages, findings}, nil
	}}
}

func twoLamps(doc *yamledit.Document) []transform.Stage {
	return []transform.Stage{light(doc, "a", "b"), light(doc, "b")}
}

func document(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	return assert.Value(yamledit.ParseString("l.yaml", text))(t)
}

func TestBuildAppliesOneStageAfterTheOther(t *testing.T) {
	p := assert.Value(Build(format(twoLamps), transform.Only(document(t, "a: off # dark\nb: 'off'\n")), transform.Target{}))(t)
	want := []string{"a: 'on' # dark\nb: 'off'\n", "a: 'on' # dark\nb: 'on'\n"}
	last := p.Start[0]
	for i, s := range p.Steps {
		assert.Truef(t, s.State == Todo && s.Documents[0].Before == last && string(s.After()[0].Bytes()) == want[i] && s.Changes(), "step %d is %s: %s", i, s.State, s.After()[0].Bytes())
		assert.DeepEqual(t, s.Edits, []Place{{Path: s.Stage.Name, Line: i + 1}}, "step", i)
		there, err := yamledit.Apply(s.Before()[0].Bytes(), s.Documents[0].Splices)
		assert.Truef(t, err == nil && string(there) == want[i], "the splices of step %d make %q (%v)", i, there, err)
		back, err := yamledit.Apply(s.After()[0].Bytes(), s.Documents[0].Reverse)
		assert.Truef(t, err == nil && string(back) == string(s.Before()[0].Bytes()), "the reverse of step %d makes %q (%v)", i, back, err)
		last = s.Documents[0].After
	}
	assert.True(t, p.Left() && p.Cluster.Format == "lamps", p)
}

func TestStagesThatHoldAreDone(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []State
		left       bool
	}{
		{"none", "a: 'off'\nb: 'off'\n", []State{Todo, Todo}, true},
		{"the first", "a: 'on'\nb: 'off'\n", []State{Done, Todo}, true},
		{"a later one supersedes", "a: 'off'\nb: 'on'\n", []State{Done, Done}, false},
		{"all", "a: 'on'\nb: 'on'\n", []State{Done, Done}, false},
	} {
		d := warning(twoLamps, func(*yamledit.Document, string) []transform.Finding {
			return []transform.Finding{{Severity: transform.Warning}}
		})
		p := assert.Value(Build(d, transform.Only(document(t, c.text)), transform.Target{}))(t)
		for i, s := range p.Steps {
			assert.Truef(t, s.State == c.want[i] && s.Changes() == (s.State == Todo) && len(s.Findings) > 0 == s.Changes(), "%s: %s is %s: %+v", c.name, s.Stage.Name, s.State, s)
		}
		assert.Equal(t, p.Left(), c.left, c.name, "left")
	}
}

func TestOnlyLaterStagesSupersede(t *testing.T) {
	stages := func(doc *yamledit.Document) []transform.Stage {
		return []transform.Stage{lit("first")(doc), light(doc, "a", "first", "none"), lit("last")(doc)}
	}
	p, err := Build(format(stages), transform.Only(document(t, "a: 'off'\n")), transform.Target{})
	assert.Truef(t, err == nil && p.Steps[1].State == Todo, "%+v, %v", p, err)
}

func TestFindingsAreAboutTheDocumentAfterTheStage(t *testing.T) {
	for _, c := range []struct {
		name    string
		finding transform.Finding
		want    State
	}{
		{"an error", transform.Finding{Severity: transform.Error}, Blocked},
		{"an error that is accepted", transform.Finding{Severity: transform.Error, Accepted: true}, Todo},
		{"a warning", transform.Finding{Severity: transform.Warning}, Todo},
		{"a note", transform.Finding{Severity: transform.Note}, Todo},
	} {
		d := warning(twoLamps, func(doc *yamledit.Document, stage string) []transform.Finding {
			assert.Truef(t, stage == "" || doc.Root().Get(stage).Value() == "on", "%s is checked before it is applied", stage)
			if stage == "b" {
				return nil
			}
			return []transform.Finding{{Severity: transform.Note}, c.finding, {Severity: transform.Note}}
		})
		p := assert.Value(Build(d, transform.Only(document(t, "a: 'off'\nb: 'off'\n")), transform.Target{}))(t)
		a, b := p.Steps[0], p.Steps[1]
		assert.Truef(t, a.State == c.want && len(a.Findings) == 3 && b.State == Todo, "%s: a is %s, b is %s", c.name, a.State, b.State)
	}
}

func TestStepIsFoundByName(t *testing.T) {
	p := assert.Value(Build(format(twoLamps), transform.Only(document(t, "a: 'on'\nb: 'off'\n")), transform.Target{}))(t)
	s, ok := p.Step("b")
	assert.Truef(t, ok && s.Stage.Name == "b" && s.State == Todo, "%+v, %v", s, ok)
	_, ok = p.Step("c")
	assert.True(t, !ok, "c is no stage")
}

func TestWhatCannotBeProvenIsNotPlanned(t *testing.T) {
	fail := errors.New("no edit")
	change := func(f func(*yamledit.Document, *transform.Stage)) func(*yamledit.Document) []transform.Stage {
		return func(doc *yamledit.Document) []transform.Stage {
			stages := []transform.Stage{light(doc, "a", "b"), light(doc, "b")}
			f(doc, &stages[0])
			return stages
		}
	}
	for _, c := range []struct {
		name, text string
		stages     func(*yamledit.Document) []transform.Stage
		want       string
	}{
		{"a cluster that does not open", "broken: 'on'\n", twoLamps, "l.yaml:1: broken; repair it"},
		{"a result that does not open", "broken: 'off'\n", func(doc *yamledit.Document) []transform.Stage { return []transform.Stage{light(doc, "broken")} }, "l.yaml:1: broken; repair it"},
		{"an edit that cannot be queued", "a: 'off'\nb: 'off'\n", change(func(_ *yamledit.Document, s *transform.Stage) {
			s.Edit = func() (*yamledit.Edit, error) { return nil, fail }
		}), "no edit"},
		{"an edit that cannot be applied", "a: &x 'off'\nb: *x\n", twoLamps, "l.yaml:1: a: the change would affect every use of this value"},
		{"a superseding stage that cannot be edited", "a: 'off'\nb: 'off'\n", func(doc *yamledit.Document) []transform.Stage {
			b := light(doc, "b")
			b.Edit = func() (*yamledit.Edit, error) { return nil, fail }
			return []transform.Stage{light(doc, "a", "b"), b}
		}, "no edit"},
		{"a check that fails", "a: 'off'\nb: 'off'\n", change(func(_ *yamledit.Document, s *transform.Stage) {
			s.Check = func(transform.Cluster) error { return errors.New("it is still dark") }
		}), "l.yaml:1: stage a cannot be planned: it is still dark; make this change manually"},
		{"an edit that never ends", "a: 'off'\nb: 'off'\n", change(func(doc *yamledit.Document, s *transform.Stage) {
			s.Edit = func() (*yamledit.Edit, error) {
				e := doc.Edit()
				text, _ := doc.Root().Get("a").String()
				e.Set(doc.Root().Get("a"), text+"!")
				return e, nil
			}
		}), "l.yaml:1: stage a cannot be planned: it would have to be applied twice; make this change manually"},
		{"an edit that fails the second time", "a: 'off'\nb: 'off'\n", change(func(doc *yamledit.Document, s *transform.Stage) {
			edit := s.Edit
			if doc.Root().Get("a").Value() == "on" {
				edit = func() (*yamledit.Edit, error) { return doc.Edit(), fail }
			}
			s.Edit = edit
		}), "l.yaml:1: stage a cannot be planned: it would have to be applied twice; make this change manually"},
	} {
		p, err := Build(format(c.stages), transform.Only(document(t, c.text)), transform.Target{})
		assert.Truef(t, p == nil && err != nil && strings.HasPrefix(err.Error(), c.want), "%s: got %+v, %v\nwant %s", c.name, p, err, c.want)
	}
}

func TestTheCheckSeesTheClusterAfterTheStage(t *testing.T) {
	stages := func(doc *yamledit.Document) []transform.Stage {
		s := light(doc, "a")
		s.Check = func(after transform.Cluster) error {
			if doc.Root().Get("a").Value() != "off" || after.Documents()[0].Root().Get("a").Value() != "on" {
				return errors.New("the check sees the wrong clusters")
			}
			return nil
		}
		return []transform.Stage{s}
	}
	_, err := Build(format(stages), transform.Only(document(t, "a: 'off'\n")), transform.Target{})
	assert.True(t, err == nil, err)
}

// dimmed is a cluster of another type than lamps.
type dimmed struct{ lamps }

func TestACheckComparesClustersOfItsOwnTypeAlone(t *testing.T) {
	check := transform.CheckBy(func(after lamps) error { return after.doc.Root().Errorf("compared", "continue") })
	assert.ErrorContains(t, check(lamps{doc: document(t, "a: 'on'\n")}), "compared", "its own")
	assert.ErrorContains(t, check(dimmed{}), "another kind of cluster", "another one")
}
