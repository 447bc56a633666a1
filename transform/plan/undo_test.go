// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// switched returns a stage that lights a lamp, and whose reverse writes off.
func switched(doc *yamledit.Document, lamp string) transform.Stage {
	s := light(doc, lamp)
	s.Undo = func() (*yamledit.Edit, error) {
		e := doc.Edit()
		if at := doc.Root().Get(lamp); at.Value() == "on" {
			e.Set(at, "off")
		}
		return e, nil
	}
	return s
}

func switchedLamps(doc *yamledit.Document) []transform.Stage {
	return []transform.Stage{switched(doc, "a"), {Name: "wait"}, switched(doc, "b")}
}

func undone(t *testing.T, d transform.Format, text, stage string, through bool) (string, error) {
	t.Helper()
	steps, err := Undo(d, transform.Only(document(t, text)), transform.Target{}, stage, through)
	printed := ""
	for _, s := range steps {
		printed += s.Stage.Name + " " + string(s.After()[0].Bytes())
	}
	return printed, err
}

func TestUndoTakesOneStageBack(t *testing.T) {
	for _, c := range []struct {
		name, text, stage string
		through           bool
		want              string
	}{
		{"the last one", "a: 'on'\nb: 'on'\n", "b", false, "b a: 'on'\nb: 'off'\n"},
		{"nothing of what is not there", "a: 'on'\nb: 'off'\n", "b", false, ""},
		{"nothing of a stage without an edit", "a: 'on'\nb: 'off'\n", "wait", false, ""},
		{"with all stages after it, the last first", "a: 'on'\nb: 'on'\n", "a", true, "b a: 'on'\nb: 'off'\na a: 'off'\nb: 'off'\n"},
	} {
		got, err := undone(t, format(switchedLamps), c.text, c.stage, c.through)
		assert.Truef(t, err == nil && got == c.want, "%s: %v: %q", c.name, err, got)
	}
}

func TestUndoDoesNotReachPastALaterStage(t *testing.T) {
	for _, stage := range []string{"a", "wait"} {
		_, err := undone(t, format(switchedLamps), "a: 'on'\nb: 'on'\n", stage, false)
		want := "l.yaml: b comes after " + stage + " and is still in the file; undo it first, or add --through"
		assert.True(t, errors.As(err, new(*transform.Conflict)) && err.Error() == want, err)
	}
}

func TestUndoNamesAStageThatIsNotThere(t *testing.T) {
	assert.Error(undone(t, format(switchedLamps), "a: 'on'\n", "c", false))(t, "has no stage c")
}

// TestUndoIsProven holds stages whose reverse is wrong.
func TestUndoIsProven(t *testing.T) {
	edit := func(doc *yamledit.Document, to any) func() (*yamledit.Edit, error) {
		return func() (*yamledit.Edit, error) {
			e := doc.Edit()
			e.Set(doc.Root().Get("a"), to)
			return e, nil
		}
	}
	for want, change := range map[string]func(*transform.Stage, *yamledit.Document){
		"it would have to be undone twice": func(s *transform.Stage, doc *yamledit.Document) { s.Undo = edit(doc, "dim") },
		"applying it again would not restore the current document": func(s *transform.Stage, doc *yamledit.Document) {
			s.Edit = edit(doc, "bright")
		},
		"the check says no": func(s *transform.Stage, _ *yamledit.Document) {
			s.Check = func(transform.Cluster) error { return errors.New("the check says no") }
		},
	} {
		_, err := undone(t, format(func(doc *yamledit.Document) []transform.Stage {
			s := switched(doc, "a")
			change(&s, doc)
			return []transform.Stage{s}
		}), "a: 'on'\n", "a", false)
		assert.Truef(t, errors.As(err, new(*transform.Conflict)) && strings.Contains(err.Error(), "stage a cannot be undone from the document alone: "+want+"; undo it with its plan folder (--plan), or restore the file from git"), "want %s, got %v", want, err)
	}
}

func TestWhatCannotBeUndoneStillComesFirst(t *testing.T) {
	d := format(func(doc *yamledit.Document) []transform.Stage {
		b := switched(doc, "b")
		b.Undo = func() (*yamledit.Edit, error) { return nil, transform.Undetermined(doc.Root().Get("b"), "dim or off") }
		return []transform.Stage{switched(doc, "a"), b}
	})
	const text = "a: 'on'\nb: 'on'\n"
	assert.Error(undone(t, d, text, "a", false))(t, "b comes after a")
	for _, stage := range []string{"a", "b"} {
		_, err := undone(t, d, text, stage, true)
		want := "l.yaml:2: b: dim or off; undo it with its plan folder (--plan), or restore the file from git, or add --canonical for the usual form"
		assert.True(t, err != nil && err.Error() == want, err)
	}
}
