// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	providerKey   = effective.ProviderKey
	inTree        = aws.Name
	external      = "external"
	disableStub   = "disable-cloud-controller"
	componentFlag = effective.ComponentFlag
	kubeletArgs   = "kubelet-arg"
	apiServerArgs = "kube-apiserver-arg"
)

// componentArgs are the arguments of the components that know a cloud provider
// of their own, which wins over cloud-provider-name.
var componentArgs = []string{kubeletArgs, apiServerArgs, managerArgs}

// anyControlPlane reports whether the configuration of any control plane is so.
func (m *migration) anyControlPlane(is func(effective.Config) bool) bool {
	return slices.ContainsFunc(m.ControlPlanes, func(c effective.Class) bool { return is(m.Effective(c)) })
}

// isExternal reports whether no control plane runs the in-tree provider any
// more, by the name or by the override of its components.
func (m *migration) isExternal() bool {
	return !m.anyControlPlane(func(c effective.Config) bool { return c.Provider(managerArgs) != external })
}

// switching reports whether a control plane is external already: the switch has
// begun, and nothing puts the flag on an external manager.
func (m *migration) switching() bool {
	return m.anyControlPlane(func(c effective.Config) bool { return c.Provider(managerArgs) == external })
}

// isOverridden reports whether the file is in the end state aws-override: the
// provider's name is aws, and every component is external all the same.
func (m *migration) isOverridden() bool {
	return m.isExternal() && !slices.ContainsFunc(m.Kinds, func(c effective.Class) bool {
		config := m.Effective(c)
		return config.Provider(kubeletArgs) != external || c.ControlPlane() && config[providerKey].Value != inTree
	})
}

// endState is the operator's choice, or else what the file is migrated to. A migration that
// has begun is not turned round. From 1.27 on the names are kept: with an external provider
// where the machines can take them from the metadata, else with the override. Before, an external
// provider is for machines that are not known to have other names.
func (m *migration) endState() string {
	switch {
	case m.Target.EndState != "":
		return m.Target.EndState
	case m.isOverridden():
		return transform.EndStateOverride
	case m.isNamedExternal():
		return transform.EndStateExternal
	case m.Target.Taken != "":
		return m.Target.Taken
	case m.keepsNamesAsExternal(), m.Target.Situation.HasInTreeProvider() && !m.renames():
		return transform.EndStateExternal
	}
	return transform.EndStateOverride
}

// isNamedExternal reports whether a control plane has the name of the external provider.
func (m *migration) isNamedExternal() bool {
	return m.anyControlPlane(func(c effective.Config) bool { return c[providerKey].Value == external })
}

// knowsProvider reports whether a component has the flag --cloud-provider.
func (m *migration) knowsProvider(component string) bool {
	return component != apiServerArgs || !k8s.From(m.Version, firstWithoutFlags)
}

// firstWithoutFlags is the minor in which kube-apiserver lost --cloud-provider and --cloud-config
// (kubernetes/kubernetes, pkg/kubeapiserver/options/cloudprovider.go at v1.32.9, and gone at
// v1.33.0).
const firstWithoutFlags = "v1.33"

// removedFlags lists the flags that a component does not have on the release that the cluster
// runs or is about to move to.
func (m *migration) removedFlags(component string) []string {
	return lists.If(component == apiServerArgs && k8s.From(m.move().Reached(), firstWithoutFlags), componentFlag, "cloud-config")
}

// removedArgs are those of these flags that control planes get, in any spelling and with any value.
func (m *migration) removedArgs() []args.Arg {
	all := lists.Flat(m.Winners(apiServerArgs, effective.Class.ControlPlane), args.Place)
	return lists.Where(all, func(a args.Arg) bool { return slices.Contains(m.removedFlags(apiServerArgs), a.Name) })
}

// minor returns the cluster's minor, such as v1.26.
func (m *migration) minor() string { return semver.MajorMinor(m.Version) }

// truthy reads a boolean argument as RKE2's command line does.
func truthy(v any) bool {
	on, err := strconv.ParseBool(fmt.Sprint(v))
	return err == nil && on
}

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
	config, _ := m.cloudConfig()
	namespace, name, refers := referred(config)
	return lists.If(refers, action.Copy(action.CopySecret{Namespace: namespace, Name: name, To: ccm.CloudConfigSecret, Key: ccm.CloudConfigKey}))
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
