// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"cmp"
	"fmt"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Options are the operator's choices for the chart.
type Options struct {
	ChartVersion    string // "" for DefaultVersion
	ChartRepo       string // "" for aws.ChartRepository
	ImageRepository string // "" for the chart's own
	ImageTag        string // "" for the one of the minor
	Format          string
	Minor           string // of the cluster, such as "v1.26"
	LeaderMigration bool
	ShortLeases     bool // with the timings of short leases
	CloudConfig     bool // mount the Secret CloudConfigSecret and name its file
	MigrationConfig bool // mount the ConfigMap MigrationConfigMap and name its file
}

// OptionsFor returns the choices for a cluster of a format on a release. From 1.28 on no
// manager is left that could hand over: a migration ends with the switch to 1.27.
func OptionsFor(t transform.Target, format, version string, cloudConfig bool) Options {
	return Options{
		ChartVersion: t.ChartVersion, ChartRepo: t.ChartRepo,
		ImageRepository: t.ImageRepository, ImageTag: t.ImageTag,
		Format: format, Minor: semver.MajorMinor(version), LeaderMigration: !t.NoLeaderMigration && !k8s.From(version, newRights),
		CloudConfig: cloudConfig, ShortLeases: t.ShortLeases,
	}
}

// Tag returns the tag of the image, or "" where none is known.
func (o Options) Tag() string { return cmp.Or(o.ImageTag, DefaultTag(o.Format, o.Minor)) }

// CheckMounting fails where the chart of these options cannot mount what they
// require; the error is about at.
func (o Options) CheckMounting(at yamledit.Node) error {
	if !o.CloudConfig && !o.MigrationConfig {
		return nil
	}
	return checkMounting(at, o.Version())
}

// newRights is the first minor whose image is served with the later chart.
const newRights = "v1.28"

// firstWithRights is the first chart for such an image.
const firstWithRights = "0.0.9"

// Version is the chart's version. Charts before 0.0.9 do not grant what the managers of
// 1.28 and later ask for to authorize the readers of their metrics
// (kubernetes/cloud-provider-aws, charts/aws-cloud-controller-manager).
func (o Options) Version() string {
	if k8s.From(o.Minor, newRights) {
		return cmp.Or(o.ChartVersion, LaterVersion)
	}
	return cmp.Or(o.ChartVersion, DefaultVersion)
}

// Repo is where the chart is fetched from.
func (o Options) Repo() string { return cmp.Or(o.ChartRepo, aws.ChartRepository) }

// CheckJoined requires that a chart has what the options require, and a pod on each of the nodes.
func (c Chart) CheckJoined(o Options, nodes []NodeClass) error {
	err := cmp.Or(
		transform.Require(c.Migrates() == o.LeaderMigration, "the chart would not have the expected --%s", LeaderFlag),
		transform.Require(len(leadermigration.Missing(o.ShortLeases, c.Args(), leadermigration.CloudTimings())) == 0, "the chart would not have the timings of short leases"),
		transform.Require(!o.MigrationConfig || c.ConfigMounted(), "the chart would not mount the manager's configuration"))
	if err != nil || !c.SchedulingShown() {
		return err
	}
	for _, class := range nodes {
		if why := c.Refuses(class); why != "" {
			return fmt.Errorf("the chart would not run on nodes of class %s: %s", class.Name, why)
		}
	}
	return nil
}

// CheckLeft requires that nothing of the migration is left on a chart.
func (c Chart) CheckLeft() error {
	return cmp.Or(transform.Require(!c.Migrates(), "the chart would still have --%s", LeaderFlag),
		transform.Require(!c.OwnConfig(), "the chart would still have --%s", leadermigration.ConfigFlag))
}
