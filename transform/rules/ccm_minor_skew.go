// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// CCMMinorSkew finds an image of the cloud-controller-manager that does not belong to
// the cluster's release. A distro describes what of it a file shows.
var CCMMinorSkew = OfCharts{
	transform.Rule{ID: "ccm-minor-skew", Severity: transform.Error, Guards: []string{stages.InstallCCM, stages.UpgradeCCM}, Acceptable: true},
	minorSkew,
}

// Renamed reports whether a manager of a version takes part in the migration by the
// default configuration of 1.28 and later, whose controllers have other names than
// those of the in-tree manager: services and routes run in both. last finds the last
// argument of a name.
func Renamed(last func(name string) (args.Arg, bool), version string) bool {
	_, configured := last(configFlag)
	flag, _ := last(leaderFlag)
	return !configured && flag.True() && k8s.From(version, "v1.28")
}

// minorSkew lets an image stay one minor older for as long as it migrates: the switch may move the
// cluster, and the last stage moves the image.
func minorSkew(c Chart, found *transform.Findings) {
	minor := c.ImageMinor()
	last := func(name string) (args.Arg, bool) { return args.Last(c.Args(), name) }
	_, configured := last(configFlag)
	minorsOlder := k8s.Minor(c.Release) - k8s.Minor(c.ImageTag())
	var message string
	switch {
	case minor == "" || configured || minorsOlder == 1 && c.Migrates() && c.External:
		return
	case Renamed(last, minor):
		message = "image " + minor + " has other controller names than the default configuration of leader migration, so services and routes run in both managers"
	case minorsOlder != 0:
		message = "image " + minor + " does not belong to Kubernetes " + semver.MajorMinor(c.Release)
	default:
		return
	}
	fix := "use an image of the cluster's minor"
	if known := ccm.DefaultTag(c.Distro, semver.MajorMinor(c.Release)); known != "" {
		fix = "set image.tag: " + known
	}
	if k8s.From(minor, "v1.28") {
		fix += ", or add --leader-migration-config generate"
	}
	f := found.Add(c.At(message, fix, "image", "tag"))
	if minorsOlder == 1 && c.External { // which kube-apiserver supports
		f.Severity = transform.Warning
		f.Fix += ", as " + stages.UpgradeCCM + " does with --target-version " + c.Release
	}
}
