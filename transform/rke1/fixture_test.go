// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	release = "v1.26.15-rancher1-1"
	onAWS   = "cloud_provider:\n  name: aws\n"
	isOut   = "cloud_provider:\n  name: external-aws\n  useInstanceMetadataHostname: true\n"
	nodes   = "nodes:\n- {address: 203.0.113.1, internal_address: 10.0.0.1, role: [controlplane, etcd]}\n"
	named   = "nodes:\n- {address: 203.0.113.1, hostname_override: ip-10-0-0-1.ec2.internal, role: [controlplane]}\n"
	// granted is addons with the right to the lease, as short as it can be.
	granted = "addons: |-\n  apiVersion: rbac.authorization.k8s.io/v1\n  kind: ClusterRole\n  metadata: {name: own}\n  rules:\n  - {apiGroups: ['*'], resources: ['*'], verbs: ['*']}\n" +
		"  ---\n  apiVersion: rbac.authorization.k8s.io/v1\n  kind: ClusterRoleBinding\n  metadata: {name: own}\n  roleRef: {kind: ClusterRole, name: own}\n  subjects:\n  - {kind: User, name: 'system:kube-controller-manager'}\n"
)

// at puts a configuration after a version.
func at(version, config string) string { return "kubernetes_version: " + version + "\n" + config }

func parse(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	return assert.Value(transform.Parse(yamledit.Chunk{File: "c.yml", Bytes: []byte(text)}))(t)
}

func opened(t *testing.T, text string, target transform.Target) *migration {
	t.Helper()
	c := assert.Value(open(transform.Only(parse(t, text)), target))(t)
	return c.(*migration)
}

func stageOf(t *testing.T, c transform.Cluster, name string) transform.Stage {
	t.Helper()
	s, found := lists.Find(c.Stages(), func(s transform.Listed) bool { return s.Name == name })
	assert.Must(t, found, "no stage", name)
	return s.Stage()
}

// after applies one stage and returns the text after it. It requires that the
// stage's own check holds, that nothing is left to do, and that the reverse
// restores every byte.
func after(t *testing.T, text, stage string, target transform.Target) string {
	t.Helper()
	m := opened(t, text, target)
	s := stageOf(t, m, stage)
	e := assert.Value(s.Edit())(t)
	doc, splices, err := e.Apply()
	assert.NilError(t, err)
	then := opened(t, string(doc.Bytes()), target)
	assert.NilError(t, s.Check(then))
	assert.Truef(t, assert.Value(stageOf(t, then, stage).Edit())(t).Empty(), "something is left to do in\n%s", doc.Bytes())
	reverse := assert.Value(yamledit.Reverse(m.Doc.Bytes(), splices))(t)
	assert.Equal(t, string(assert.Value(yamledit.Apply(doc.Bytes(), reverse))(t)), text, "the reverse")
	return string(doc.Bytes())
}

// stageCase is a configuration before and after a stage.
type stageCase struct {
	name, config, want string
}

func runStage(t *testing.T, stage string, target transform.Target, cases []stageCase) {
	t.Helper()
	for _, c := range cases {
		assert.Equal(t, after(t, at(release, c.config), stage, target), at(release, c.want), c.name)
	}
}

// planAt plans a configuration.
func planAt(t *testing.T, config string, target transform.Target) *plan.Plan {
	t.Helper()
	return assert.Value(plan.Build(Format(), transform.Only(parse(t, config)), target))(t)
}
