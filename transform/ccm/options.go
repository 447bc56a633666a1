// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"golang.org/x/mod/semver"

	values "github.com/rke-lm/rke-lm/charts/aws-ccm-values"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Options are the operator's choices for the chart.
type Options struct {
	ChartVersion    string // "" for DefaultVersion
	ChartRepo       string // "" for Repository
	ImageRepository string // "" for the chart's own
	ImageTag        string // "" for the one of the minor
	Distro          string
	Minor           string // of the cluster, such as "v1.26"
	LeaderMigration bool
	CloudConfig     bool // mount the Secret CloudConfigSecret and name its file
	MigrationConfig bool // mount the ConfigMap MigrationConfigMap and name its file
}

// OptionsFor returns the choices for a cluster of a distro on a release. A release
// without values is taken for the newest one that has them: in-tree-gone blocks the
// stages, which show what they would be.
func OptionsFor(t transform.Target, distro, version string, cloudConfig bool) Options {
	minor := semver.MajorMinor(version)
	if newest := values.Newest(distro); semver.Compare(minor, newest) > 0 {
		minor = newest
	}
	return Options{
		ChartVersion: t.ChartVersion, ChartRepo: t.ChartRepo,
		ImageRepository: t.ImageRepository, ImageTag: t.ImageTag,
		Distro: distro, Minor: minor, LeaderMigration: !t.NoLeaderMigration,
		CloudConfig: cloudConfig,
	}
}

// Tag returns the tag of the image, or "" where none is known.
func (o Options) Tag() string { return or(o.ImageTag, DefaultTag(o.Distro, o.Minor)) }

// CheckMounting fails where the chart of these options cannot mount what they ask
// for; at is to blame.
func (o Options) CheckMounting(at yamledit.Node) error {
	if !o.CloudConfig && !o.MigrationConfig {
		return nil
	}
	return checkMounting(at, o.Version())
}

// Version is the chart's version.
func (o Options) Version() string { return or(o.ChartVersion, DefaultVersion) }

// Repo is where the chart is fetched from.
func (o Options) Repo() string { return or(o.ChartRepo, Repository) }
