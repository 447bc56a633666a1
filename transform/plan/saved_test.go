// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	dark   = "a: off # é\nb: 'off'\nc: off\n"
	aIsOn  = "a: 'on' # é\nb: 'off'\nc: off\n"
	abOn   = "a: 'on' # é\nb: 'on'\nc: off\n"
	allOn  = "a: 'on' # é\nb: 'on'\nc: 'on'\n"
	unlike = "a: off # è\nb: 'off'\nc: off\n"
)

// savedLamps plans three lamps and a stage without an edit, and reads the plan
// back.
func savedLamps(t *testing.T) Saved {
	t.Helper()
	d := format(func(doc *yamledit.Document) []transform.Stage {
		return []transform.Stage{light(doc, "a"), {Name: "wait"}, light(doc, "b"), light(doc, "c")}
	})
	p := assert.Value(Build(d, transform.Only(document(t, dark)), transform.Target{EndState: transform.EndStateExternal}))(t)
	text := assert.Value(json.Marshal(p.Save("/here/l.yaml")))(t)
	var s Saved
	assert.NilError(t, json.Unmarshal(text, &s))
	return s
}

// lampsAt is a document in the middle of a file.
func lampsAt(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	return assert.Value(yamledit.Parse(yamledit.Chunk{File: "l.yaml", Index: 1, Line: 7, Bytes: []byte(text)}))(t)
}

// forward are the steps that a choice takes from a saved plan.
func forward(s Saved, doc *yamledit.Document, c Choice) ([]Step, error) {
	p, err := s.Open(transform.Only(doc))
	if err != nil {
		return nil, err
	}
	return p.Choose(c)
}

// outcome reports what came of moves: the stages, and the document after the last.
func outcome(moves []Step, err error) string {
	if err != nil {
		if !errors.As(err, new(*transform.Conflict)) {
			return "error: " + err.Error()
		}
		return "conflict: " + err.Error()
	}
	var names []string
	after := ""
	for _, m := range moves {
		names, after = append(names, m.Stage.Name), string(m.After()[0].Bytes())
	}
	return strings.Join(names, ",") + " " + after
}

func TestASavedPlanGoesForward(t *testing.T) {
	s := savedLamps(t)
	for _, c := range []struct {
		name, text string
		choice     Choice
		want       string
	}{
		{"the first stage", dark, Choice{Stage: "a"}, "a " + aIsOn},
		{"the next one", aIsOn, Choice{Next: true}, "b " + abOn},
		{"a later one with all before it", dark, Choice{Stage: "c", Through: true}, "a,b,c " + allOn},
		{"nothing after the last", allOn, Choice{Next: true}, " "},
		{"nothing for what is done", abOn, Choice{Stage: "a"}, " "},
		{"nothing for a stage without an edit", dark, Choice{Stage: "wait"}, " "},
		{"a stage without an edit with all before it", dark, Choice{Stage: "wait", Through: true}, "a " + aIsOn},
		{"not past a stage", dark, Choice{Stage: "b"}, "conflict: l.yaml: a comes before b and is not done; apply it first, or add --through"},
		{"not on another document", unlike, Choice{Next: true}, "conflict: l.yaml:8: document 2 ((no name)) has changed since it was planned; plan it again with --out, and use that plan"},
		{"not to a stage that was not planned", dark, Choice{Stage: "d"}, "error: " + notAmong("d").Error()},
	} {
		assert.DeepEqual(t, outcome(forward(s, lampsAt(t, c.text), c.choice)), c.want, c.name)
	}
}

func TestASavedPlanGoesBackToTheSameBytes(t *testing.T) {
	s := savedLamps(t)
	for _, c := range []struct {
		name, text, stage string
		through           bool
		want              string
	}{
		{"the last stage", allOn, "c", false, "c " + abOn},
		{"the last one that is done", aIsOn, "a", false, "a " + dark},
		{"all of them, the last first", allOn, "a", true, "c,b,a " + dark},
		{"nothing of what is not done", aIsOn, "b", false, " "},
		{"nothing of a stage without an edit", allOn, "wait", false, " "},
		{"not past a later stage", allOn, "b", false, "conflict: l.yaml: c comes after b and is still in the file; undo it first, or add --through"},
		{"not in another document", unlike, "a", true, "conflict: l.yaml:8: document 2 ((no name)) has changed since it was planned; plan it again with --out, and use that plan"},
	} {
		assert.DeepEqual(t, outcome(s.Undo(transform.Only(lampsAt(t, c.text)), c.stage, c.through)), c.want, c.name)
	}
}

func TestWhatIsAroundADocumentIsNoPartOfThePlan(t *testing.T) {
	s := savedLamps(t)
	for _, around := range []struct{ before, after string }{
		{"---\n", ""}, {"# new\n---\n", "# next\n"}, {"--- # marked\n", ""}, {"\ufeff", ""}, {"%YAML 1.1\n---\n", "...\n"}, {"---  \n", "\n\n"},
	} {
		want := "a " + around.before + aIsOn + around.after
		assert.DeepEqual(t, outcome(forward(s, lampsAt(t, around.before+dark+around.after), Choice{Next: true})), want)
		want = "a " + around.before + dark + around.after
		assert.DeepEqual(t, outcome(s.Undo(transform.Only(lampsAt(t, around.before+aIsOn+around.after)), "a", false)), want)
	}
}

func TestAPlanThatWasChangedLeadsNowhere(t *testing.T) {
	for name, change := range map[string]func(*Revision){
		"other text":      func(s *Revision) { s.Splices[0].New = "evil" },
		"another place":   func(s *Revision) { s.Splices[0].Start-- },
		"outside":         func(s *Revision) { s.Splices[0].End = 1000 },
		"another result":  func(s *Revision) { s.AfterSum = strings.Repeat("0", 64) },
		"the wrong order": func(s *Revision) { s.Splices = append(s.Splices, s.Splices[0]) },
	} {
		s := savedLamps(t)
		change(&s.Steps[0].Documents[0])
		assert.Contains(t, outcome(forward(s, lampsAt(t, dark), Choice{Next: true})), "so plan.json was changed", name)
	}
}

func TestAPlanWithoutEditsKnowsItsDocument(t *testing.T) {
	d := format(func(*yamledit.Document) []transform.Stage { return []transform.Stage{{Name: "wait"}} })
	p := assert.Value(Build(d, transform.Only(document(t, dark)), transform.Target{}))(t)
	s := p.Save("")
	assert.Equal(t, outcome(forward(s, lampsAt(t, dark), Choice{Next: true})), " ")
	got := outcome(s.Undo(transform.Only(lampsAt(t, unlike)), "wait", false))
	assert.True(t, strings.HasPrefix(got, "conflict"), got)
}

func TestPickPrefersThePlanThatKnowsTheDocument(t *testing.T) {
	one, two := savedLamps(t), savedLamps(t)
	one.Steps, one.Source.Document = nil, 1
	two.Source.Document = 2
	other := savedLamps(t)
	other.Cluster.Name = "other"
	plans := []Saved{other, one, two}
	p, ok := Pick(plans, two.Cluster, transform.Only(lampsAt(t, aIsOn)), false)
	assert.Truef(t, ok && p.Source.Document == 2, "got %v", p.Source)
	p, ok = Pick(plans, two.Cluster, transform.Only(lampsAt(t, unlike)), false)
	assert.Truef(t, ok && p.Source.Document == 1, "got %v", p.Source)
	_, ok = Pick(plans, transform.Identity{Format: "lamps", Name: "new"}, transform.Only(lampsAt(t, dark)), false)
	assert.True(t, !ok, "a plan of another cluster was picked")
}
