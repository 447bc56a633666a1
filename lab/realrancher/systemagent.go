// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"

	"github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1/plan"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/lab/agent"
)

const configFile = "/etc/rancher/rke2/config.yaml.d/50-rancher.yaml"

// applied are the manifests of a plan that RKE2 applies here. The others are for the agent of the cluster, which
// runs outside of it, and for charts of RKE2 that are not installed.
var applied = []string{
	"/var/lib/rancher/rke2/server/manifests/rancher/addons.yaml",
	"/var/lib/rancher/rke2/server/manifests/rancher/rke2-etcd-snapshot-extra-metadata.yaml",
}

// applyIfDue tries the plan if it is due, and says in the Secret what came of it.
func (m *Machine) observe(ctx context.Context) error {
	if m.isStalled() {
		return nil
	}
	secrets := m.client.CoreV1().Secrets(m.namespace)
	secret, err := secrets.Get(ctx, m.secret, metav1.GetOptions{})
	if err != nil {
		return err
	}
	data := agent.PlanSecret(secret.Data)
	p, due, err := data.Due()
	if err != nil || !due {
		return err
	}
	if m.fails() {
		err = data.Failed("no space left on device")
	} else if err = m.run(ctx, p); err == nil {
		err = data.Succeeded(slices.Collect(maps.Keys(p.Probes))...)
	}
	if err != nil {
		return err
	}
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return err
}

// run keeps the files of a plan, and has RKE2 run with them.
func (m *Machine) run(ctx context.Context, p plan.NodePlan) error {
	files := map[string]string{}
	for _, f := range p.Files {
		text, err := base64.StdEncoding.DecodeString(f.Content)
		if err != nil {
			return err
		}
		files[f.Path] = string(text)
	}
	m.mu.Lock()
	m.files = files
	m.mu.Unlock()
	if m.cluster.rke2 == nil {
		return nil
	}
	if asks(p) {
		return m.cluster.rke2.Snapshot(ctx, m.of())
	}
	config, err := m.Config()
	if err != nil {
		return err
	}
	manifests := map[string]string{}
	for _, file := range applied {
		manifests[file] = files[file]
	}
	return m.cluster.rke2.Run(ctx, m.of(), config, manifests)
}

// asks reports whether a plan requires a snapshot of etcd. It leaves RKE2 as it runs.
func asks(p plan.NodePlan) bool {
	return slices.ContainsFunc(p.Instructions, func(i plan.OneTimeInstruction) bool { return slices.Contains(i.Args, "etcd-snapshot") })
}

// Stall makes the machine look at no plan, or at its plans again.
func (m *Machine) Stall(stalled bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stalled = stalled
}

func (m *Machine) isStalled() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stalled
}

// Fail lets so many tries of the machine's plans fail.
func (m *Machine) Fail(tries int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failing = tries
}

func (m *Machine) fails() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failing == 0 {
		return false
	}
	m.failing--
	return true
}
