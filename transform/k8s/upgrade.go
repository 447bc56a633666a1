// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"cmp"
	"fmt"
	"strconv"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Upgrade is the path of a cluster to the release that the operator chose.
type Upgrade struct {
	From    string        // the release of the cluster
	To      string        // the chosen one; "" for none
	At      yamledit.Node // states the release in the file
	Holder  yamledit.Node // would hold At
	Format  string        // "an RKE2", as a message calls a release of it
	Example string
	Is      func(version string) bool // well formed for the format
}

// Planned reports whether the release changes.
func (m Upgrade) Planned() bool { return m.To != "" && m.To != m.From }

// Reached is the release that the cluster runs, or the later one that it is about
// to move to.
func (m Upgrade) Reached() string {
	if m.Is(m.To) && semver.Compare(m.To, m.From) > 0 {
		return m.To
	}
	return m.From
}

// Leaves reports whether the move leads past the first release of a minor.
func (m Upgrade) Leaves(minor string) bool {
	return m.Planned() && !From(m.From, minor) && From(m.To, minor)
}

// Why is said of the stage that moves the cluster; "" where none does.
func (m Upgrade) Why() string {
	if !m.Planned() {
		return ""
	}
	why := " Kubernetes moves to " + m.To + " in the same edit."
	if m.Leaves(aws.FirstWithout) {
		why += " From 1.27 on you cannot roll back to the in-tree provider."
	}
	return why
}

// Caution reports what an undo of the stage does not bring back.
func (m Upgrade) Caution() string {
	if !m.Planned() {
		return ""
	}
	return "The undo writes " + m.From + " into the file again, but Kubernetes cannot be downgraded: restore a snapshot of etcd."
}

// Queue writes the new release. The edit fails for one that is no release of the
// format, is older, or lies more than one minor up.
func (m Upgrade) Queue(e *yamledit.Edit) {
	if m.Planned() {
		e.Fail(cmp.Or(m.stated(), m.Check(m.At)))
		e.Set(m.At, m.To)
	}
}

func (m Upgrade) stated() error {
	if stated := m.At.StringAt(); !m.Is(stated) {
		return m.Holder.Errorf("the file has no version, so --target-version has no version to start from", "remove --target-version, or set the version in the file")
	}
	return nil
}

// Check fails for a target that is no release of the format, is older, or lies
// more than one minor up. at is the node to name.
func (m Upgrade) Check(at yamledit.Node) error {
	err := m.later(at)
	if minors := m.Minors(); err == nil && minors > 1 {
		err = m.refuse(at, fmt.Sprintf("it is %d minors after %s", minors, m.From), "upgrade one minor at a time")
	}
	return err
}

func (m Upgrade) later(at yamledit.Node) error {
	switch {
	case !m.Is(m.To):
		return m.refuse(at, "it is not "+m.Format+" release such as "+m.Example, "correct it")
	case semver.Compare(m.To, m.From) < 0:
		return m.refuse(at, "it is older than "+m.From, "choose a later one")
	}
	return nil
}

// refuse names the flag, whose value is wrong for the cluster of a document.
func (m Upgrade) refuse(of yamledit.Node, what, do string) error {
	return &yamledit.Error{File: of.Document().File(), What: "--target-version " + m.To + ": " + what, Do: do}
}

// CheckRollback refuses to go back to the in-tree provider on a release without it. The
// error points at the document where it does not state the release.
func CheckRollback(version string, stated yamledit.Node) error {
	if !From(version, aws.FirstWithout) {
		return nil
	}
	at := yamledit.First(stated, stated.Document().Root())
	return &transform.Conflict{At: at.Errorf("Kubernetes 1.27 and later have no in-tree provider to roll back to", "keep the external provider")}
}

// Minors is how many minors the chosen release is later; 0 where none is chosen.
func (m Upgrade) Minors() int {
	if !m.Planned() || !m.Is(m.To) {
		return 0
	}
	return Minor(m.To) - Minor(m.From)
}

// UpgradePath is what a format knows of the path to a release.
type UpgradePath struct {
	Migrated func() bool               // no edit of the migration is left to do
	OldImage func() bool               // the cloud-controller-manager has not reached the cluster's minor yet
	Newest   func(minor string) string // the newest known release of a minor, or ""
	Check    func() error              // refuses a release that the cluster cannot reach
}

// Decide makes the chosen release the next step towards it. A cluster that is not migrated
// takes one minor in the switch, and is migrated first towards a later one.
func (m Upgrade) Decide(t transform.Target, path UpgradePath) (transform.Target, error) {
	if t.Upgrade != "" || t.Version == "" {
		return t, nil
	}
	t.Upgrade = transform.UpgradeInSwitch
	done := path.Migrated()
	if !done && m.Minors() <= 1 {
		return t, nil
	}
	step, err := m.step(path.Newest)
	if err == nil {
		err = path.Check()
	}
	switch {
	case err != nil:
		return t, err
	case !done:
		t.Version = ""
		return t, nil
	case path.OldImage():
		step = m.From
	case m.To == m.From:
		return t, nil
	}
	t.Upgrade, t.Version = transform.UpgradeByStages, step
	return t, nil
}

// step returns the release to move to next towards the chosen one, which may be several
// minors away: the control planes of Kubernetes skip none
// (kubernetes.io/releases/version-skew-policy, kube-apiserver).
func (m Upgrade) step(newest func(minor string) string) (string, error) {
	if err := cmp.Or(m.stated(), m.later(m.At)); err != nil {
		return "", err
	}
	next := m.To
	for minor := Minor(m.From) + 1; minor < Minor(m.To); minor++ {
		name := "1." + strconv.Itoa(minor)
		release := newest("v" + name)
		if release == "" {
			return "", m.At.Errorf("no release of Kubernetes "+name+" is known, and an upgrade to "+m.To+" skips no minor", "upgrade to a release of "+name+" first, with --target-version")
		}
		if next == m.To {
			next = release
		}
	}
	return next, nil
}
