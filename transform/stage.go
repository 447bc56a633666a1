// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Stage is one reviewable change of one cluster, in its current state.
type Stage struct {
	Name string
	Why  string
	// Gap is for how long no manager runs the cloud controllers while the stage rolls out;
	// zero for no such time, or where none was measured.
	Gap Span
	// NoGap means that there is none: no manager hands over any more.
	NoGap bool
	// SupersededBy names the later stages that, once done, leave nothing to do
	// here: nothing ever puts the flag back on an external manager.
	SupersededBy []string
	// Change is what it does to the document. A stage without Edit is made of actions alone.
	Change
	// Early reports that the stage cannot be done yet, although nothing is left
	// to edit: what it takes away was never there. nil means never.
	Early func() bool
	// Skipped reports that the document holds nothing of the stage although it is past the
	// one that makes it useless: it was skipped for good. nil means never.
	Skipped func() bool
	// NotInFile reports that the document neither holds what the stage makes nor
	// shows that it is missing: it may have come to the cluster in another way. Then
	// only a choice of this very stage edits the document. nil means never.
	NotInFile func() bool
	// Uncounted means that the stage only checks, or that only the cluster shows whether anything
	// is to be done: nothing of it is left.
	Uncounted bool
	// AfterManual names the earlier stages that have to be done before the edit, and
	// that someone does by hand: no document shows whether they were.
	AfterManual []string
	// Prepare is what has to be so in the cloud before the stage.
	Prepare action.Preparation
	// Before and After are what has to happen outside of the document, before the edit
	// and after it. A stage without Edit has After alone.
	Before, After []action.Action
	// Caution is what to know before the stage is undone, if anything; Permanent says that it
	// cannot be undone.
	Caution   string
	Permanent bool
	// Verify shows whether the stage has done its work.
	Verify []action.Action
	// UndoBefore and UndoAfter are what has to happen, or to be looked at, before the
	// edit is undone and after that. A stage without Edit has UndoAfter alone.
	UndoBefore, UndoAfter []action.Action
	// Withdrawn reports that the document does not go to the cluster once the stage
	// is undone: what it describes has left the cluster before.
	Withdrawn bool
	// Files returns what a person needs with the document, once the stage's edit
	// is in it; what the actions of a stage without edit name. nil for none.
	Files func() ([]action.File, error)
}

// Require is the error of a check of a stage for what does not hold; nil where it does.
func Require(holds bool, otherwise string, names ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(otherwise, names...)
}

// Unpromised returns the first key with another value, of which an absent one is nil, that a stage does not promise.
func Unpromised(before, after map[string]any, promised func(key string, before, after any) bool) (key string, found bool) {
	return lists.Find(lists.Keys(before, after), func(key string) bool {
		return !reflect.DeepEqual(before[key], after[key]) && !promised(key, before[key], after[key])
	})
}

// Span is how long something takes: from and up to so many seconds; zero, which is "" as text, for no time.
type Span struct{ Least, Most int }

func (s Span) String() string {
	switch {
	case s == Span{}:
		return ""
	case s.Least == s.Most:
		return fmt.Sprintf("about %d seconds", s.Most)
	}
	return fmt.Sprintf("%d to %d seconds", s.Least, s.Most)
}

// Listed is a stage in the list of a cluster. It is made when it is needed: a plan needs one or two of each list.
type Listed struct {
	Name  string
	Stage func() Stage
}

// List is the stage that a function makes, once, in a list.
func List(name string, stage func() Stage) Listed { return Listed{name, sync.OnceValue(stage)} }

// Change is how a stage edits a document, proves it and undoes it.
type Change struct {
	// Edit queues the stage's change; an empty edit says that nothing is left to
	// edit. It fails where the document cannot be edited safely.
	Edit func() (*yamledit.Edit, error)
	// Check compares the cluster with its successor: what was promised changed,
	// for every machine class, and nothing else. CheckBy makes one.
	Check func(after Cluster) error
	// Undo queues the reverse of Edit, as far as the document still shows what was
	// there before; an empty edit means that nothing of the stage is in it. It fails
	// with *Conflict where the document does not show it. nil means nothing to undo.
	Undo func() (*yamledit.Edit, error)
}

// ChangeOf makes a change from what queues it and its undo in a document, and from a check of a format's own type of
// clusters. Without undo it cannot be undone.
func ChangeOf[C Cluster](doc *yamledit.Document, t Target, edit func(*yamledit.Edit), check func(after C) error, undo func(*Reverse)) Change {
	c := Change{Edit: EditOf(doc, edit), Check: CheckBy(check)}
	if undo != nil {
		c.Undo = EditOf(doc, func(e *yamledit.Edit) { Reversed(e, t, undo) })
	}
	return c
}

// CheckBy makes the check of a stage from one of a format's own type of clusters.
func CheckBy[C Cluster](check func(after C) error) func(after Cluster) error {
	return func(after Cluster) error {
		own, is := after.(C)
		if !is {
			return fmt.Errorf("the document would describe another kind of cluster")
		}
		return check(own)
	}
}
