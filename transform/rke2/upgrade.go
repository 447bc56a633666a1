// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func (m *migration) upgradeWhy() string {
	if m.target.Version == "" || m.target.Version == m.Version {
		return ""
	}
	why := " Kubernetes moves to " + m.target.Version + " in the same edit."
	if semver.Compare(m.minor(), "v1.27") < 0 && semver.Compare(m.target.Version, "v1.27") >= 0 {
		why += " From 1.27 on there is no way back to the in-tree provider."
	}
	return why
}

// upgradeCaution says what an undo of the switch does not bring back.
func (m *migration) upgradeCaution() string {
	if m.target.Version == "" || m.target.Version == m.Version {
		return ""
	}
	return "The undo writes " + m.Version + " into the file again, and Kubernetes does not go back to an older release: it takes a restored snapshot of etcd."
}

// upgrade moves the cluster to the target version.
func (m *migration) upgrade(e *yamledit.Edit) error {
	at := m.Root.Get("spec", "kubernetesVersion")
	if m.target.Version == "" || m.target.Version == m.Version {
		return nil
	}
	if err := m.checkUpgrade(at); err != nil {
		return err
	}
	e.Set(at, m.target.Version)
	return nil
}

// checkUpgrade allows one minor up, and no way down.
func (m *migration) checkUpgrade(at yamledit.Node) error {
	if stated, _ := at.String(); !isRelease(stated) {
		return m.Root.Get("spec").Errorf("the file states no version, so it cannot be moved to a target version", "leave out --target-version, or state the version in the file")
	}
	if !isRelease(m.target.Version) {
		return at.Errorf("the target version is not an RKE2 release such as v1.27.16+rke2r1", "correct --target-version")
	}
	if semver.Compare(m.target.Version, m.Version) < 0 {
		return at.Errorf("the target version "+m.target.Version+" is older", "choose a later one")
	}
	if minors := minorNumber(m.target.Version) - minorNumber(m.Version); minors > 1 {
		return at.Errorf(fmt.Sprintf("the target version %s is %d minors up", m.target.Version, minors), "go one minor at a time")
	}
	return nil
}

func minorNumber(version string) int {
	_, minor, _ := strings.Cut(semver.MajorMinor(version), ".")
	n, err := strconv.Atoi(minor)
	if err != nil {
		return 0 // isRelease has made sure that it is a number
	}
	return n
}
