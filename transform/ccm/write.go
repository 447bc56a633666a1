// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"strings"

	values "github.com/rke-lm/rke-lm/charts/aws-ccm-values"
	"github.com/rke-lm/rke-lm/transform/args"
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

// Tag returns the tag of the image, or "" where none is known.
func (o Options) Tag() string { return or(o.ImageTag, DefaultTag(o.Distro, o.Minor)) }

// CheckMounting fails where the chart of these options cannot mount what they ask
// for; at is to blame.
func (o Options) CheckMounting(at yamledit.Node) error {
	if !o.CloudConfig && !o.MigrationConfig {
		return nil
	}
	return checkMounting(at, or(o.ChartVersion, DefaultVersion))
}

// DefaultTag returns the image tag for a distro and a cluster minor, or "".
func DefaultTag(distro, minor string) string {
	v, ok := values.ForMinor(distro, minor)
	if !ok {
		return ""
	}
	d, err := yamledit.ParseString(minor, v)
	if err != nil {
		return ""
	}
	return text(d.Root(), "image", "tag")
}

// Manifest returns a HelmChart with the values for the cluster's minor; false
// says that there are none for it.
func Manifest(o Options) (string, bool) {
	base, ok := values.ForMinor(o.Distro, o.Minor)
	if !ok {
		return "", false
	}
	var b strings.Builder
	b.WriteString("apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata:\n  name: " + ChartName + "\n  namespace: kube-system\nspec:\n" +
		"  bootstrap: true\n  chart: " + ChartName + "\n  failurePolicy: abort\n  repo: " + or(o.ChartRepo, Repository) + "\n" +
		"  targetNamespace: kube-system\n  " + valuesKey + ": |-\n")
	for _, line := range strings.Split(strings.TrimSuffix(o.adapt(base), "\n"), "\n") {
		b.WriteString("    " + line + "\n")
	}
	b.WriteString("  version: " + or(o.ChartVersion, DefaultVersion) + "\n")
	return b.String(), true
}

// adapt brings the operator's choices into the values of a minor.
func (o Options) adapt(base string) string {
	d, err := yamledit.ParseString("values.yaml", base)
	if err != nil {
		return base // the embedded files are tested
	}
	e := d.Edit()
	if o.ImageTag != "" {
		e.Set(d.Root().Get("image", "tag"), o.ImageTag)
	}
	if o.ImageRepository != "" {
		e.Insert(d.Root().Get("image"), "repository", o.ImageRepository)
	}
	if !o.LeaderMigration {
		args.Remove(e, d.Root().Get("args"), LeaderFlag)
	}
	var mounts []mount
	if o.MigrationConfig {
		e.Append(d.Root().Get("args"), migrationArg)
		mounts = append(mounts, migrationMount)
	}
	if o.CloudConfig {
		e.Append(d.Root().Get("args"), cloudConfigArg)
		mounts = append(mounts, cloudConfigMount)
	}
	addMounts(e, d.Root(), mounts...)
	after, _, err := e.Apply()
	if err != nil {
		return base
	}
	return string(after.Bytes())
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
