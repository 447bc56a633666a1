// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// CCMMinorSkew finds an image of the cloud-controller-manager that does not belong to
// the cluster's release. A distro describes what of it a file shows.
var CCMMinorSkew = ccmMinorSkew{transform.Rule{
	ID: "ccm-minor-skew", Severity: transform.Error, Guards: []string{stages.InstallCCM, stages.UpgradeCCM}, Acceptable: true,
}}

type ccmMinorSkew struct{ transform.Rule }

// Renamed reports whether a manager of a version takes part in the migration by the
// default configuration of 1.28 and later, whose controllers have other names than
// those of the in-tree manager: services and routes run in both. last finds the last
// argument of a name.
func (ccmMinorSkew) Renamed(last func(name string) (args.Arg, bool), version string) bool {
	_, configured := last(configFlag)
	flag, _ := last(leaderFlag)
	return !configured && flag.True() && k8s.From(version, "v1.28")
}
