// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	cloudConfigKey  = "cloud-provider-config"
	secretReference = "secret://"
)

// cloudConfig returns the in-tree provider's configuration on control planes,
// and whether it is the content itself rather than a reference.
func (m *migration) cloudConfig() (config string, inline bool) {
	for _, c := range m.ControlPlanes {
		if config = m.Effective(c).Text(cloudConfigKey); config != "" {
			return config, !strings.HasPrefix(config, secretReference)
		}
	}
	return "", false
}

// sameCloudConfig reports whether all control planes have the same one; only
// then a single cloud-controller-manager can take it over.
func (m *migration) sameCloudConfig() bool {
	config, _ := m.cloudConfig()
	return !m.anyControlPlane(func(c effective.Config) bool { return c.Text(cloudConfigKey) != config })
}

// carriesCloudConfig reports whether the cloud-controller-manager has taken the
// configuration over, so that it can leave the machines.
func (m *migration) carriesCloudConfig() bool {
	chart, found, err := m.chart()
	return err == nil && found && m.sameCloudConfig() && args.Has(chart.Args(), "cloud-config")
}

func (m *migration) removeCloudConfig(e *yamledit.Edit) {
	for _, l := range m.LayersWith(cloudConfigKey) {
		e.Remove(l.Get(cloudConfigKey))
	}
}

// cloudConfigActions create the Secret that the chart mounts from the one that
// the configuration refers to.
func (m *migration) cloudConfigActions() []action.Action {
	config, inline := m.cloudConfig()
	if config == "" || inline {
		return nil
	}
	namespace, name, _ := referred(config)
	return []action.Action{action.Copy(action.CopySecret{Namespace: namespace, Name: name, To: ccm.CloudConfigSecret, Key: ccm.CloudConfigKey})}
}

// referred returns the Secret that a value refers to, and whether it is one.
func referred(value string) (namespace, name string, is bool) {
	at, refers := strings.CutPrefix(value, secretReference)
	namespace, name, _ = strings.Cut(at, ":")
	return namespace, name, refers
}

// checkReferences refuses a configuration in a Secret that cannot exist.
func (c *Cluster) checkReferences() error {
	for _, l := range c.Layers {
		n := l.Get(cloudConfigKey)
		namespace, name, refers := referred(n.StringAt())
		if refers && !(k8s.IsNamespace(namespace) && k8s.IsName(name)) {
			return n.Errorf("it refers to a Secret whose name or namespace Kubernetes does not accept", "write "+secretReference+"NAMESPACE:NAME")
		}
	}
	return nil
}
