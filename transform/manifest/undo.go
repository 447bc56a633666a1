// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The reverse of a stage removes what the stage would have written, if it is
// as the stage writes it. plan.Undo proves that the stage would write
// it again; what is decided here is which of several predecessors is meant.

// joinUndo takes a manager out of the migration: what join writes goes, the last
// arguments with their mount and their volume. Of an external manager the switch
// is undone first.
func (m *migration) joinUndo(e *transform.Reverse) {
	if !m.on(leaderFlag) {
		return
	}
	if a, _ := m.flag(leaderFlag); !m.isJoined() {
		e.Fail(transform.Lost(a.Node(), "--"+leaderFlag+" differs from what rke-lm writes, so it existed before"))
	}
	m.leave(e.Edit, args.Update{Remove: m.joined()})
	m.emptied(e)
}

// isJoined reports whether the flags of the migration are where join puts them.
func (m *migration) isJoined() bool {
	list := m.arguments.List()
	ours := []string{"--" + leaderFlag}
	if a, found := m.flag(configFlag); found {
		ours = append(ours, "--"+configFlag+"="+a.Value)
	}
	if len(m.joined()) > 0 {
		ours = append(ours, lists.Map(m.short(), func(a args.Arg) string { return "--" + a.Text })...)
	}
	if m.Kind == kindConfiguration {
		return true // a mapping may have sorted them in
	}
	if len(list) < len(ours) {
		return false
	}
	return slices.EqualFunc(list[len(list)-len(ours):], ours, func(a args.Arg, text string) bool { return a.Text == text })
}

// joined are the flags of short leases that the manager has.
func (m *migration) joined() []string {
	return lists.If(leadermigration.HasTimings(m.arguments.List(), m.short()), args.Names(m.short())...)
}

// emptied makes the choice for the lists that go with their last item.
func (m *migration) emptied(e *transform.Reverse) {
	a, found := m.flag(configFlag)
	mount := m.mountOf(a.Value)
	for _, n := range []yamledit.Node{mount, m.volumeOf(mount)} {
		if list := n.Parent(); found && n.Exists() && list.Len() == 1 {
			e.Usual(list, "it contains nothing else, and was either absent or empty before")
		}
	}
}

// switchUndo makes the manager in-tree again and lets it join the migration in
// the same edit: without the flag both managers would run the cloud controllers.
func (m *migration) switchUndo(e *transform.Reverse) {
	if !m.isExternal() {
		return
	}
	at, _ := m.versionAt()
	e.Fail(k8s.CheckRollback(m.Version, at))
	back, err := *m, error(nil)
	back.target, err = m.stages().Undone(e, at)
	e.Fail(err)
	if m.move().To == m.Version {
		e.Usual(at, "the release before the switch was this one or an older one")
	}
	u := args.Update{Set: []args.Arg{args.With(providerFlag, inTree)}}
	m.withIPAM(e, &u)
	m.arguments.Apply(e.Edit, u)
	moveProvider(e.Edit, m.apiServer, external, inTree)
	if !m.target.NoLeaderMigration {
		back.join(e.Edit)
	}
}

// withIPAM lets kube-controller-manager run nodeipam again.
func (m *migration) withIPAM(e *transform.Reverse, u *args.Update) {
	a, found := m.flag(leadermigration.ControllersFlag)
	if !m.target.NodeIPAM || !found {
		return
	}
	names := strings.Split(a.Value, ",")
	left := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "-"+nodeIPAM })
	switch {
	case len(left) == len(names):
	case slices.Equal(left, []string{"*"}):
		u.Remove = append(u.Remove, leadermigration.ControllersFlag)
		e.Usual(a.Node(), "it contains nothing else, and was absent or * before")
	default:
		u.Set = append(u.Set, args.With(leadermigration.ControllersFlag, strings.Join(left, ",")))
	}
}

// disableUndo lets the cloud-controller-manager join the migration again.
func (m *migration) disableUndo(e *transform.Reverse) {
	if m.on(leaderFlag) && m.target.KeepLeaderMigration {
		m.imageBack(e)
	}
	if !m.finished() || m.on(leaderFlag) {
		return
	}
	at := m.Root.Get("metadata", "annotations", markKey)
	e.Usual(at, "the flag was at an unknown place among the arguments, and the image may have been a different one")
	drop(e.Edit, at)
	m.join(e.Edit)
}

// imageBack makes the choice for an image that the last stage may have moved: the one before
// is nowhere in the file.
func (m *migration) imageBack(e *transform.Reverse) {
	tag := cmp.Or(m.target.ImageTag, ccm.TestedTag(m.target.Version))
	if at, stated := m.versionAt(); tag != "" && tag == stated {
		e.Usual(at, "the image was this one or that of another release")
	}
}
