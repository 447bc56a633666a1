// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"strconv"

	"github.com/rke-lm/rke-lm/transform"
)

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
	if err := m.stated(); err != nil {
		return "", err
	}
	if err := m.later(m.At); err != nil {
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
