// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"iter"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// documents is the path of an edit that adds or removes a document of the cluster.
const documents = "documents"

// edits returns what changes in the documents outside of the configuration of machine
// classes and of the release, and is not of a stage.
func (c *comparison) edits() []Edit {
	if len(c.expected) != len(c.after.Docs) {
		at := c.after.Docs[0].Root()
		return []Edit{{At: at, Path: documents, How: Changed}}
	}
	covered := c.covered()
	var found []Edit
	for i, doc := range c.expected {
		now := c.after.Docs[i]
		if c.after.Format.SameSpec(doc, now) && doc.Root().Get("spec").Exists() {
			continue
		}
		for _, d := range differences(spec(doc), spec(now)) {
			path := d.node().Path()
			if covered.overlaps(path) {
				continue
			}
			found = append(found, Edit{At: d.at(now), Path: path, How: d.kind()})
		}
	}
	return found
}

// places are paths, and those of what is around them.
type places struct{ at, around map[string]bool }

func (p places) add(path string) {
	p.at[path] = true
	for outer := range outward(path) {
		p.around[outer] = true
	}
}

// overlaps reports whether a path is one of the places, or in one or around one.
func (p places) overlaps(path string) bool {
	if p.around[path] {
		return true
	}
	for outer := range outward(path) {
		if p.at[outer] {
			return true
		}
	}
	return false
}

// outward yields a path and what is around it, step by step.
func outward(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for path != "" && yield(path) {
			path = path[:max(strings.LastIndexAny(path, ".["), 0)]
		}
	}
}

// covered are the places of the configuration of machine classes: what matters of them
// is what machines get.
func (c *comparison) covered() places {
	all := places{map[string]bool{}, map[string]bool{}}
	add := func(n yamledit.Node) {
		if p := n.Path(); p != "" && !all.at[p] {
			all.add(p)
		}
	}
	for _, docs := range [][]*yamledit.Document{c.before.Docs, c.expected, c.after.Docs} {
		classes, _ := c.before.Format.Classes(docs, c.target)
		seen := map[any]bool{} // what classes share
		for _, class := range classes {
			if first := firstOf(class.Settings); !seen[first] {
				seen[first] = true
				for _, s := range class.Settings {
					add(s.Origin)
					for _, n := range s.Overridden {
						add(n)
					}
				}
			}
			if first := firstOf(class.Dropped); !seen[first] {
				seen[first] = true
				for _, d := range class.Dropped {
					add(d.Origin)
				}
			}
		}
	}
	return all
}

var stageDiffers = transform.Rule{ID: "stage-differs", Severity: transform.Warning,
	Doc: "The result of a stage is there, and written differently than rke-lm plans it with the choices of the base."}.Because(
	"A later stage and its undo expect the form that is planned, and can refuse the file.", ownStages, "Apply the stage with rke-lm apply, or set the choices that were used in .rke-lm.yaml.", "")

// documents reports edits of the documents that are not of a stage.
func (c *comparison) documents(edits []Edit) {
	begun := c.begun()
	for _, e := range edits {
		f := transform.FindingAt(e.At, e.Path+" is "+string(e.How), "")
		f.Path = e.Path
		switch {
		case edited(c.old, c.performed, e.Path):
			f.Message += " differently than " + c.named() + " does it with the choices of the base"
			f.Fix = "compare it with the diff of rke-lm plan, and check the choices, such as --chart-version"
			c.report(stageDiffers, f)
		case edited(c.now, c.undone, e.Path), c.removed.Exists() && (e.Path == documents || overlap(e.Path, c.removed.Path())): // the undo, or the removal, explains it
		default:
			c.unexplained(f, overlapsAny(begun, e.Path), transform.Note)
		}
	}
}

// edited reports whether one of the stages edits the place in a plan.
func edited(p *plan.Plan, names []string, path string) bool {
	return p != nil && slices.ContainsFunc(names, func(name string) bool {
		s, has := p.Step(name)
		return has && overlapsAny(placesOf(s), path)
	})
}

func placesOf(s plan.Step) []string {
	return lists.Map(s.Edits, func(e plan.Place) string { return e.Path })
}

func overlapsAny(paths []string, path string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return overlap(p, path) })
}

// begun lists the places that a stage had to edit before the change and does not have to
// after it, while the stage is left to do: a part of it was made.
func (c *comparison) begun() []string {
	if c.old == nil || c.now == nil {
		return nil
	}
	var paths []string
	for _, s := range c.old.Steps {
		now, has := c.now.Step(s.Stage.Name)
		if !has || !s.Left() || !now.Left() {
			continue
		}
		still := placesOf(now)
		paths = append(paths, lists.Where(placesOf(s), func(p string) bool { return !slices.Contains(still, p) })...)
	}
	return paths
}

// difference is a value that two documents do not share; one of the nodes may be missing.
type difference struct {
	before, after yamledit.Node
}

// spec is the part of a document that describes what a cluster gets: labels, annotations
// and what a server adds do not.
func spec(doc *yamledit.Document) yamledit.Node {
	return yamledit.First(doc.Root().Get("spec"), doc.Root())
}

// differences returns the innermost values that differ. Lists of another length differ as
// a whole. Text that holds manifests is compared as these are applied.
func differences(before, after yamledit.Node) []difference {
	switch {
	case !before.Exists() && !after.Exists(), before.Exists() && after.Exists() && yamledit.Same(before.Value(), after.Value()):
		return nil
	case before.IsMap() && after.IsMap():
		found := lists.Flat(before.Entries(), func(e yamledit.Entry) []difference { return differences(e.Value, after.Get(e.Key)) })
		return append(found, lists.Found(after.Entries(), func(e yamledit.Entry) (difference, bool) {
			return difference{after: e.Value}, !before.Get(e.Key).Exists()
		})...)
	case before.IsList() && after.IsList() && before.Len() == after.Len():
		var found []difference
		items := after.Items()
		for i, item := range before.Items() {
			found = append(found, differences(item, items[i])...)
		}
		return found
	}
	return []difference{{before, after}}
}

// node is the one after the change, or else the one before it.
func (d difference) node() yamledit.Node { return yamledit.First(d.after, d.before) }

// at is its place after the change, or the nearest one to what was removed.
func (d difference) at(now *yamledit.Document) yamledit.Node {
	return yamledit.First(d.after, nearest(now, d.before))
}

func (d difference) kind() Kind {
	switch {
	case !d.before.Exists():
		return Added
	case !d.after.Exists():
		return Removed
	}
	return Changed
}

// nearest finds a node in another version of its document, or what is around it there.
func nearest(doc *yamledit.Document, n yamledit.Node) yamledit.Node {
	var steps []yamledit.Node
	for ; n.Exists() && n.Path() != n.Document().Root().Path(); n = n.Parent() {
		steps = append(steps, n)
	}
	at := doc.Root()
	for _, s := range slices.Backward(steps) {
		next := at.Get(s.Key())
		if at.IsList() {
			next = yamledit.Node{}
			if items := at.Items(); s.Index() >= 0 && s.Index() < len(items) {
				next = items[s.Index()]
			}
		}
		if !next.Exists() {
			break
		}
		at = next
	}
	return at
}

// overlap reports whether one path is that of the other or of something in it.
func overlap(a, b string) bool { return within(a, b) || within(b, a) }

func within(inner, outer string) bool {
	rest, is := strings.CutPrefix(inner, outer)
	return is && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
