// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"maps"
	"slices"
	"strconv"

	"github.com/rancher/rke/types"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
)

// cloudConfigFile is what a plan folder calls the provider's configuration.
const cloudConfigFile = ccm.CloudConfigKey

// cloudConfig returns the provider's configuration: the user's own text, which
// RKE takes before a block of settings, or what RKE makes of the block.
func (c *Cluster) cloudConfig() string {
	p := c.Read.CloudProvider
	if p.CustomCloudProvider != "" || p.AWSCloudProvider == nil {
		return p.CustomCloudProvider
	}
	sections := []ccm.Section{{Name: "Global", Settings: globalSettings(p.AWSCloudProvider.Global)}}
	for _, label := range slices.Sorted(maps.Keys(p.AWSCloudProvider.ServiceOverride)) {
		sections = append(sections, ccm.Section{Name: "ServiceOverride", Label: label, Settings: overrideSettings(p.AWSCloudProvider.ServiceOverride[label])})
	}
	return ccm.INI(sections)
}

// globalSettings names the settings as the manager's reader does, which is how
// RKE tags them (types.GlobalAwsOpts).
func globalSettings(g types.GlobalAwsOpts) []ccm.Setting {
	return settings(
		ccm.Setting{Name: "Zone", Value: g.Zone},
		ccm.Setting{Name: "VPC", Value: g.VPC},
		ccm.Setting{Name: "SubnetID", Value: g.SubnetID},
		ccm.Setting{Name: "RouteTableID", Value: g.RouteTableID},
		ccm.Setting{Name: "RoleARN", Value: g.RoleARN},
		ccm.Setting{Name: "KubernetesClusterTag", Value: g.KubernetesClusterTag},
		ccm.Setting{Name: "KubernetesClusterID", Value: g.KubernetesClusterID},
		ccm.Setting{Name: "DisableSecurityGroupIngress", Value: onlyTrue(g.DisableSecurityGroupIngress)},
		ccm.Setting{Name: "ElbSecurityGroup", Value: g.ElbSecurityGroup},
		ccm.Setting{Name: "DisableStrictZoneCheck", Value: onlyTrue(g.DisableStrictZoneCheck)},
	)
}

func overrideSettings(o types.ServiceOverride) []ccm.Setting {
	return settings(
		ccm.Setting{Name: "Service", Value: o.Service},
		ccm.Setting{Name: "Region", Value: o.Region},
		ccm.Setting{Name: "URL", Value: o.URL},
		ccm.Setting{Name: "SigningRegion", Value: o.SigningRegion},
		ccm.Setting{Name: "SigningMethod", Value: o.SigningMethod},
		ccm.Setting{Name: "SigningName", Value: o.SigningName},
	)
}

// settings leaves out what is not set.
func settings(all ...ccm.Setting) []ccm.Setting {
	return slices.DeleteFunc(all, func(s ccm.Setting) bool { return s.Value == "" })
}

func onlyTrue(on bool) string {
	if !on {
		return ""
	}
	return strconv.FormatBool(on)
}

// cloudConfigActions bring the configuration to where the chart mounts it.
func (m *migration) cloudConfigActions() []transform.Action {
	if m.cloudConfig() == "" {
		return nil
	}
	return []transform.Action{transform.SecretFromFile{
		Namespace: "kube-system", Name: ccm.CloudConfigSecret, Key: ccm.CloudConfigKey, File: cloudConfigFile,
		Why: "before the chart, create the configuration of the provider, which the chart mounts; plan --out writes the file",
	}}
}
