// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// As the agent of an RKE machine starts it.
func TestTheManagersArgumentsFollowFromTheFile(t *testing.T) {
	const head = "nodes: [{address: 203.0.113.11, role: [controlplane]}]\n"
	for _, c := range []struct {
		name, text  string
		loops, flag bool
		routes      check.Mode
	}{
		{"in-tree", head + "cloud_provider: {name: aws}\n", true, false, check.Never},
		{"by its block of settings", head + "cloud_provider: {name: external-aws, awsCloudProvider: {}}\n", true, false, check.Never},
		{"external", head + "cloud_provider: {name: external-aws}\n", false, false, check.Never},
		{"with the flag", head + "cloud_provider: {name: aws}\nservices: {kube-controller: {extra_args: {enable-leader-migration: true}}}\n", true, true, check.Never},
		{"in an array, which comes last", head + "cloud_provider: {name: aws}\nservices: {kube-controller: {extra_args: {enable-leader-migration: 'true'}, extra_args_array: {enable-leader-migration: ['false']}}}\n", true, false, check.Never},
		{"The name of the provider stays aws, because it sets the names of the nodes; an argument makes each component external.", head + "cloud_provider: {name: aws}\nservices: {kube_controller: {extra_args: {cloud-provider: external}}}\n", false, false, check.Never},
		{"with routes, which RKE leaves off", head + "cloud_provider: {name: aws}\nservices: {kube-controller: {extra_args: {configure-cloud-routes: 'true'}}}\n", true, false, check.UnderMain},
		{"as Rancher's API has it", `{"spec": {"rancherKubernetesEngineConfig": {"cloudProvider": {"name": "aws"}, "services": {"kubeController": {"extraArgs": {"enable-leader-migration": "true"}}}}}}`, true, true, check.Never},
		{"of another provider", head + "cloud_provider: {name: azure, azureCloudProvider: {}}\n", true, false, check.Never},
		{"of none", head, false, false, check.Never},
	} {
		doc := assert.Value(yamledit.ParseString("cluster.yml", c.text))(t)
		given, err := ManagerArguments("cluster.yml", doc)
		p := check.ReadProcess(observed.Manager{Component: observed.KubeManager, Args: given.Args})
		assert.Truef(t, err == nil && given.From == "cluster.yml" && p.Loops == c.loops && p.Flag == c.flag && p.Modes[check.Route] == c.routes && p.Elects, "%s: %v %+v", c.name, err, given)
	}
}

func TestTheManagersArgumentsHoldNoSecret(t *testing.T) {
	doc := assert.Value(yamledit.ParseString("cluster.yml", "cloud_provider: {name: aws}\nkubernetes_version: v1.26.15-rancher1-1\nservices: {kube-controller: {extra_args: {service-account-token: hunter2hunter2}}}\n"))(t)
	given, err := ManagerArguments("cluster.yml", doc)
	assert.Truef(t, err == nil && !strings.Contains(strings.Join(given.Args, " "), "hunter2"), "%v %v", given, err)
}

func TestAnObjectShowsWhatIsOpen(t *testing.T) {
	of := func(provider string) map[string]any {
		return map[string]any{"cloudProvider": map[string]any{"name": provider}}
	}
	for name, c := range map[string]struct {
		served Served
		done   bool
		open   []string // where it is written
	}{
		"Rancher is done":            {Served{Applied: of("aws"), Spec: of("aws")}, true, []string{"spec of c-1"}},
		"a change rolls out":         {Served{Applied: of("aws"), Spec: of("external-aws")}, true, []string{"spec of c-1"}},
		"a change failed in between": {Served{Applied: of("aws"), Spec: of("aws"), Failed: of("external-aws")}, true, []string{"spec of c-1", "status.failedSpec of c-1"}},
		"nothing was applied so far": {Served{Spec: of("aws")}, false, nil},
	} {
		applied, open, done, err := c.served.Arguments("c-1")
		from := lists.Map(open, func(g check.Given) string { return g.From })
		assert.Truef(t, err == nil && done == c.done && slices.Equal(from, c.open) && (!done || applied.From == "status.appliedSpec of c-1"), "%s: %+v, %v, %t, %v", name, applied, from, done, err)
	}
}
