// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"errors"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const joining = "image: {tag: v1.26.6}\nargs: [--v=2, --enable-leader-migration=true]\n"

func running(tag string, args ...string) []observed.DaemonSet {
	return []observed.DaemonSet{{Image: "registry.example.org:5000/ccm:" + tag, Args: append([]string{"/bin/manager"}, args...)}}
}

func TestAChartIsInstalledWhenItRunsWithItsValues(t *testing.T) {
	for _, c := range []struct {
		name   string
		values string
		sets   []observed.DaemonSet
		want   bool
	}{
		{"nothing runs", joining, nil, false},
		{"as the values say", joining, running("v1.26.6", "--v=2", "--enable-leader-migration=true"), true},
		{"with more arguments", joining, running("v1.26.6", "--v=2", "--enable-leader-migration=true", "--own"), true},
		{"another image", joining, running("v1.26.5", "--v=2", "--enable-leader-migration=true"), false},
		{"without the flag", joining, running("v1.26.6", "--v=2"), false},
		{"another value", joining, running("v1.26.6", "--v=3", "--enable-leader-migration=true"), false},
		{"a flag that is not wanted", "image: {tag: v1.26.6}\nargs: [--v=2]\n", running("v1.26.6", "--v=2", "--enable-leader-migration=true"), false},
		{"values that are none", "", running("v1.26.6"), false},
	} {
		assert.Equal(t, installed(c.values, c.sets), c.want, c.name)
	}
}

func TestAManagerHasLeftTheMigrationWithoutTheFlag(t *testing.T) {
	const final = "image: {tag: v1.27.1}\nargs: [--v=2]\n"
	for _, c := range []struct {
		name   string
		values string
		sets   []observed.DaemonSet
		want   bool
	}{
		{"nothing runs", final, nil, false},
		{"as the values say", final, running("v1.27.1", "--v=2"), true},
		{"a later patch and other arguments are the user's own", final, running("v1.27.9", "--v=4"), true},
		{"another minor", final, running("v1.26.6", "--v=2"), false},
		{"the flag", final, running("v1.27.1", "--v=2", "--enable-leader-migration=true"), false},
		{"the flag by its name alone", final, running("v1.27.1", "--v=2", "--enable-leader-migration"), false},
		{"the flag turned off", final, running("v1.27.1", "--v=2", "--enable-leader-migration=false"), true},
		{"the flag is kept", joining, running("v1.26.6", "--v=2", "--enable-leader-migration=true"), true},
	} {
		assert.Equal(t, finished(c.values, c.sets), c.want, c.name)
	}
}

const (
	externalRKE2 = "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: heron, namespace: fleet-default}\nspec:\n  kubernetesVersion: v1.26.15+rke2r1\n" +
		"  rkeConfig:\n    machineGlobalConfig: {cloud-provider-name: external, disable-cloud-controller: true}\n    machinePools:\n    - {name: a, controlPlaneRole: true, etcdRole: true, quantity: 3}\n"
	externalRKE1 = "cluster_name: plover\nkubernetes_version: v1.26.15-rancher1-1\nnodes:\n- {address: 10.0.4.11, role: [controlplane, etcd, worker]}\ncloud_provider: {name: external-aws}\nservices: {}\n"
)

func planned(t *testing.T, d transform.Format, text string) *plan.Plan {
	t.Helper()
	doc := assert.Value(yamledit.ParseString("c.yaml", text))(t)
	return assert.Value(plan.Build(d, transform.Only(doc), transform.Target{EndState: transform.EndStateExternal}))(t)
}

func TestAMigrationDoesNothingAboutAManagerThatIsNotInTheFile(t *testing.T) {
	for _, c := range []struct {
		format transform.Format
		text   string
	}{{rke2.Format(), externalRKE2}, {rke1.Format(), externalRKE1}} {
		p := planned(t, c.format, c.text)
		w := Planner{Format: c.format}
		for _, seen := range []*observed.Observation{{}, {DaemonSets: running("v1.26.6", "--v=4")}} {
			l, err := w.Plan(p, stages.InstallCCM, false, seen)
			assert.Truef(t, err == nil && l.Empty(), "%s: %+v, %v", c.format.Name, l, err)
		}
	}
}

// No stage that is undone gives such a manager the flag, and with the in-tree
// provider it would be a second owner.
func TestNoRollbackBeginsWhereTheManagerIsNotInTheFile(t *testing.T) {
	p := planned(t, rke2.Format(), externalRKE2)
	w := Planner{Format: rke2.Format(), Target: transform.Target{CanonicalForm: true}}
	names := assert.Value(RollbackOrder(p, ""))(t)
	var conflict *transform.Conflict
	err := w.CheckRollback(p, names, &observed.Observation{DaemonSets: running("v1.26.6", "--v=4")})
	assert.True(t, errors.As(err, &conflict), err)
	err = w.CheckRollback(p, []string{stages.VerifyProviderIDs, stages.DisableLeaderMigration}, &observed.Observation{})
	assert.Truef(t, err == nil, "the switch stays: %v", err)
}
