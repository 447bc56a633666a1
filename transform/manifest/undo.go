// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/inlinemanifest"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The reverse of a stage removes what the stage would have written, if it is
// as the stage writes it. transform.Undo proves that the stage would write
// it again; what is decided here is which of several predecessors is meant.

// usual is for a choice that the document does not determine: it fails unless
// the operator asked for the usual form.
func (m *migration) usual(at yamledit.Node, what string) error {
	return inlinemanifest.UsualOf(m.target)(at, what)
}

// joinUndo takes a manager out of the migration: what join writes goes, the last
// arguments with their mount and their volume. Of an external manager the switch
// is undone first.
func (m *migration) joinUndo() (*yamledit.Edit, error) {
	e := m.Doc.Edit()
	if !m.on(leaderFlag) {
		return e, nil
	}
	if a, _ := m.flag(leaderFlag); !m.isJoined() {
		return nil, transform.Lost(a.Node, "--"+leaderFlag+" differs from what rke-lm writes, so it existed before")
	}
	m.leave(e, args.Update{})
	return e, m.emptied()
}

// isJoined reports whether the flags of the migration are where join puts them.
func (m *migration) isJoined() bool {
	list := m.arguments.List()
	ours := []string{"--" + leaderFlag}
	if a, found := m.flag(configFlag); found {
		ours = append(ours, "--"+configFlag+"="+a.Value)
	}
	if m.Kind == kindConfiguration {
		return true // a mapping may have sorted them in
	}
	if len(list) < len(ours) {
		return false
	}
	return slices.EqualFunc(list[len(list)-len(ours):], ours, func(a args.Placed, text string) bool { return a.Text == text })
}

// emptied calls usual for the lists that go with their last item.
func (m *migration) emptied() error {
	a, found := m.flag(configFlag)
	if !found {
		return nil
	}
	mount := m.mountOf(a.Value)
	for _, n := range []yamledit.Node{mount, m.volumeOf(mount)} {
		if list := n.Parent(); n.Exists() && list.Len() == 1 {
			if err := m.usual(list, "it contains nothing else, and was either absent or empty before"); err != nil {
				return err
			}
		}
	}
	return nil
}

// switchUndo makes the manager in-tree again and lets it join the migration in
// the same edit: without the flag both managers would run the cloud controllers.
func (m *migration) switchUndo() (*yamledit.Edit, error) {
	e := m.Doc.Edit()
	if !m.isExternal() {
		return e, nil
	}
	at, _ := m.versionAt()
	if k8s.From(m.Version, k8s.FirstWithout) {
		return nil, &transform.Conflict{At: at.Errorf("Kubernetes 1.27 and later have no in-tree provider to roll back to", "keep the external provider")}
	}
	if m.move().To == m.Version {
		if err := m.usual(at, "the release before the switch was this one or an older one"); err != nil {
			return nil, err
		}
	}
	u := args.Update{Set: []args.Arg{args.With(providerFlag, inTree)}}
	if err := m.withIPAM(&u); err != nil {
		return nil, err
	}
	m.arguments.Apply(e, u)
	m.moveServer(e, external, inTree)
	if m.target.NoLeaderMigration {
		return e, nil
	}
	return e, m.join(e)
}

// withIPAM lets kube-controller-manager run nodeipam again.
func (m *migration) withIPAM(u *args.Update) error {
	a, found := m.flag(controllersFlag)
	if !m.target.NodeIPAM || !found {
		return nil
	}
	names := strings.Split(a.Value, ",")
	left := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "-"+nodeIPAM })
	switch {
	case len(left) == len(names):
		return nil
	case slices.Equal(left, []string{"*"}):
		u.Remove = append(u.Remove, controllersFlag)
		return m.usual(a.Node, "it contains nothing else, and was absent or * before")
	}
	u.Set = append(u.Set, args.With(controllersFlag, strings.Join(left, ",")))
	return nil
}

// disableUndo lets the cloud-controller-manager join the migration again.
func (m *migration) disableUndo() (*yamledit.Edit, error) {
	e := m.Doc.Edit()
	if m.on(leaderFlag) && m.target.KeepLeaderMigration {
		return e, m.imageBack()
	}
	if !m.finished() || m.on(leaderFlag) {
		return e, nil
	}
	at := m.Root.Get("metadata", "annotations", markKey)
	if err := m.usual(at, "the flag was at an unknown place among the arguments, and the image may have been a different one"); err != nil {
		return nil, err
	}
	drop(e, at)
	return e, m.join(e)
}

// imageBack calls usual for an image that the last stage may have moved: the one before
// is nowhere in the file.
func (m *migration) imageBack() error {
	tag := m.target.ImageTag
	if tag == "" {
		tag = ccm.TestedTag(m.target.Version)
	}
	at, stated := m.versionAt()
	if tag == "" || tag != stated {
		return nil
	}
	return m.usual(at, "the image was this one or that of another release")
}
