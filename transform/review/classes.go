// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Class is what a change does to the machines of one class.
type Class struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"-"`
	Kind   Kind              `json:"change"`
	Keys   []Key             `json:"keys"`
}

// Key is a key of the effective configuration with another value; a value is nil where
// the key is missing.
type Key struct {
	Name   string `json:"key"`
	Before any    `json:"before,omitempty"`
	After  any    `json:"after,omitempty"`
}

// explain returns what machines get of documents and after the change, by class; nothing where that cannot be worked
// out: then the documents are compared instead.
func (c *comparison) explain(docs []*yamledit.Document) (before, after map[string]transform.MachineClass) {
	was, err := c.before.Format.Classes(docs, c.target)
	is, failed := c.after.Format.Classes(c.after.Docs, c.target)
	if err != nil || failed != nil {
		return nil, nil
	}
	name := func(c transform.MachineClass) string { return c.Name }
	return lists.By(was, name), lists.By(is, name)
}

// firstOf distinguishes lists that are not the same one.
func firstOf[T any](list []T) *T {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// otherValue is a key whose values differ; the zero Setting is that of a class without the key.
type otherValue struct {
	key     string
	was, is transform.Setting
}

// differing returns the keys with another value in the settings of a class, which may be missing on
// one side. Most classes share both sides with others.
func (c *comparison) differing(before, after transform.MachineClass) (found []otherValue) {
	at := [2]*transform.Setting{firstOf(before.Settings), firstOf(after.Settings)}
	if known, has := c.compared[at]; has {
		return known
	}
	key := func(s transform.Setting) string { return s.Key }
	was, is := lists.By(before.Settings, key), lists.By(after.Settings, key)
	found = lists.Found(lists.Keys(was, is), func(key string) (otherValue, bool) {
		return otherValue{key, was[key], is[key]}, !sameSetting(was[key].Value, is[key].Value)
	})
	c.compared[at] = found
	return found
}

// classes compares the two sides for the reader.
func (c *comparison) classes() []Class {
	before, after := c.explain(c.before.Docs)
	var found []Class
	for _, name := range lists.Keys(before, after) {
		was, had := before[name]
		class := Class{Name: name, Labels: after[name].Labels, Kind: Changed}
		if _, has := after[name]; !has {
			class.Labels, class.Kind = was.Labels, Removed
		} else if !had {
			class.Kind = Added
		}
		class.Keys = lists.Map(c.differing(was, after[name]), func(d otherValue) Key { return Key{d.key, d.was.Value, d.is.Value} })
		if class.Kind != Changed || len(class.Keys) > 0 {
			found = append(found, class)
		}
	}
	return found
}

// sameSetting compares values as a component reads them: the order of arguments matters
// only where one is repeated.
func sameSetting(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	as, isList := a.([]any)
	bs, both := b.([]any)
	if !isList || !both || len(as) != len(bs) {
		return false
	}
	return maps.EqualFunc(byName(args.Of(a)), byName(args.Of(b)), slices.Equal[[]string])
}

// byName returns the values of each argument in their order.
func byName(list []args.Arg) map[string][]string {
	of := map[string][]string{}
	for _, a := range list {
		of[a.Name] = append(of[a.Name], a.Value)
	}
	return of
}

// changedFlags lists the arguments that two values do not share.
func changedFlags(a, b any) []string {
	as, bs := byName(args.Of(a)), byName(args.Of(b))
	return lists.Where(lists.Keys(as, bs), func(name string) bool { return !slices.Equal(as[name], bs[name]) })
}

// departure is a key whose value is not the one that the stages of the change give it,
// for the classes that share the place of it.
type departure struct {
	otherValue // expected and found
	at         yamledit.Node
	classes    []string
	override   yamledit.Node // the list that is overridden, where flags are lost by that
	lost       []string      // these flags
}

// departures compares what machines get with what they would get of the stages alone.
func (c *comparison) departures() (found []*departure) {
	want, got := c.explain(c.expected)
	of := map[string][]*departure{} // by key
	for _, class := range slices.Sorted(maps.Keys(want)) {
		if _, has := got[class]; !has {
			continue
		}
		for _, other := range c.differing(want[class], got[class]) {
			d := c.departure(class, other)
			if same, has := lists.Find(of[d.key], d.sameAs); has {
				same.classes = append(same.classes, class)
				continue
			}
			of[d.key], found = append(of[d.key], d), append(found, d)
		}
	}
	return found
}

func (c *comparison) departure(class string, other otherValue) *departure {
	d := &departure{otherValue: other, at: other.is.Origin, classes: []string{class}}
	if !d.at.Exists() {
		d.at = nearest(c.after.Docs[0], d.was.Origin)
		return d
	}
	if strings.HasSuffix(d.key, "-arg") { // other keys hold no flags
		d.override, d.lost = overridden(d.was, d.is)
	}
	return d
}

// sameAs reports whether two departures of a key are the same for several classes.
func (d *departure) sameAs(o *departure) bool { return o.at.Same(d.at) && slices.Equal(o.lost, d.lost) }

// overridden returns the flags that are lost because another list won, and the list that
// still has one of them.
func overridden(was, is transform.Setting) (yamledit.Node, []string) {
	var at yamledit.Node
	var lost []string
	now := args.Of(is.Value)
	for _, a := range args.Of(was.Value) {
		if _, kept := args.Last(now, a.Name); kept || slices.Contains(lost, a.Name) {
			continue
		}
		for _, n := range is.Overridden {
			if _, has := args.Last(args.Of(n.Value()), a.Name); has {
				at, lost = n, append(lost, a.Name)
				break
			}
		}
	}
	return at, lost
}

// migrates reports whether a departure is about what stages change.
func (d *departure) migrates() bool {
	promised := stages.Promised()
	if slices.Contains(promised.Keys, d.key) || slices.Contains(promised.Flags, d.key) {
		return true
	}
	in := func(flag string) bool { return slices.Contains(promised.Flags, flag) }
	return slices.Contains(promised.Arguments, d.key) && slices.ContainsFunc(changedFlags(d.was.Value, d.is.Value), in)
}

var flagOverridden = transform.Rule{ID: "flag-overridden", Severity: transform.Error,
	Doc: "A list of arguments replaces another list, as machineSelectorConfig does, and machines lose arguments that they had."}.Because(
	"The machines lose arguments without an error, for example those that a stage added.", transform.SourcePlanner, "Repeat the arguments in the later list, or move them to one place.", "If the machines are meant to lose them.")

// machines reports what machines get that is not of a stage.
func (c *comparison) machines() {
	for _, d := range c.departures() {
		classes := strings.Join(d.classes, ", ")
		switch {
		case len(d.lost) > 0:
			c.report(flagOverridden, transform.FindingAt(d.at,
				fmt.Sprintf("this %s replaces the list on line %d, and machines of class %s lose: %s", d.key, d.override.Line(), classes, strings.Join(d.lost, ", ")),
				"add the arguments of that list to this one, or make the change there"))
		case d.migrates() && len(c.undone) > 0: // the undo explains it
		default:
			c.unexplained(transform.FindingAt(d.at, fmt.Sprintf("%s changes for machines of class %s", d.key, classes), ""), d.migrates(), transform.Warning)
		}
	}
}

var stageIncomplete = transform.Rule{ID: "stage-incomplete", Severity: transform.Error,
	Doc: "The change edits what stages edit, and the result is that of no stage, for example a part of the switch."}.Because(
	"A part of a stage is the state that no check describes: a manager can stop, or two can run.", ownStages, "Apply the whole stage with rke-lm apply.", "If the rest is made by another program.")

var editWithStage = transform.Rule{ID: "edit-with-stage", Severity: transform.Error,
	Doc: "A stage comes together with an edit that belongs to no stage: the two cannot be rolled out, checked and undone separately."}.Because(
	"If something breaks, it is unknown which of the two is the cause, and the undo of the stage leaves the other edit.", ownStages, "Split the change.", "If the edit is needed by the stage, such as a label that its selector uses.")

var editWithoutStage = transform.Rule{ID: "edit-without-stage", Severity: transform.Warning,
	Doc: "The change is no stage, and machines get another configuration. It is a note where it is outside of the configuration of machines."}.Because(
	"Machines get another configuration and restart.", ownStages, "Nothing, if it is intended.", "")

// unexplained reports an edit that is not of a stage: it makes a part of one, or comes together with one. alone is how
// severe it is otherwise.
func (c *comparison) unexplained(f transform.Finding, part bool, alone transform.Severity) {
	rule := editWithoutStage
	switch {
	case part:
		rule, f.Message, f.Fix = stageIncomplete, f.Message+", and the result is that of no stage", c.instead()
	case c.moves():
		rule, f.Message, f.Fix = editWithStage, f.Message+", which does not belong to "+c.named(), "make this edit in a separate pull request"
	default:
		f.Severity, f.Message, f.Fix = alone, f.Message+", and that is no stage", "nothing, if this is intended: it is a separate pull request"
	}
	c.report(rule, f)
}

// moves reports whether the change performs or undoes a stage.
func (c *comparison) moves() bool { return len(c.performed)+len(c.undone) > 0 }

// named are the stages of the change in a sentence.
func (c *comparison) named() string {
	return strings.Join(slices.Concat(c.performed, c.undone), ", ")
}

// instead names the command that makes the change as a stage.
func (c *comparison) instead() string {
	if next := next(c.now); next != "" {
		return next + " is next: make the change with rke-lm apply --next, or revert this edit"
	}
	return "revert this edit, or make the change with rke-lm apply"
}
