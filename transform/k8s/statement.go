// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Statement is what a file says of its release.
type Statement struct {
	At      yamledit.Node // states it
	Holder  yamledit.Node // would hold At
	Key     string        // of At
	Stated  string
	Assumed string // replaces a release that the file does not state
	Distro  string // "an RKE2", as a message calls a release of it
	Example string
	Is      func(version string) bool // well formed for the distro
}

// Version returns the stated release, or else the assumed one. It fails where
// there is none, and refuses one without leader migration.
func (s Statement) Version() (string, error) {
	version, at := s.Stated, s.At
	switch {
	case s.Is(s.Stated):
	case s.Assumed == "" && s.Stated == "":
		return "", s.Holder.Errorf(s.Key+" is absent", "set it, or use --assume-version")
	case s.Assumed == "":
		return "", s.At.Errorf("not "+s.Distro+" release such as "+s.Example, "correct it, or use --assume-version")
	case s.Is(s.Assumed):
		version, at = s.Assumed, s.Holder.Document().Root()
	default:
		return "", s.Holder.Document().Root().Errorf("the assumed version is not "+s.Distro+" release", "give --assume-version a release such as "+s.Example)
	}
	if semver.Compare(semver.MajorMinor(version), FirstMigrates) < 0 {
		return "", transform.NotMigratable(at, "leader migration requires Kubernetes 1.22 or later", "upgrade the cluster first")
	}
	return version, nil
}
