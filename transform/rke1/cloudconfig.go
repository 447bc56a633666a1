// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/action"
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
	sections := []ccm.Section{{Name: "Global", Settings: settings(p.AWSCloudProvider.Global)}}
	for _, label := range slices.Sorted(maps.Keys(p.AWSCloudProvider.ServiceOverride)) {
		sections = append(sections, ccm.Section{Name: "ServiceOverride", Label: label, Settings: settings(p.AWSCloudProvider.ServiceOverride[label])})
	}
	return ccm.INI(sections)
}

// settings are those of a section that are set, named as the manager's reader does, which is how RKE
// tags them (types.GlobalAwsOpts and types.ServiceOverride).
func settings(section any) (list []ccm.Setting) {
	v := reflect.ValueOf(section)
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("ini"), ","); !v.Field(i).IsZero() {
			list = append(list, ccm.Setting{Name: name, Value: fmt.Sprint(v.Field(i).Interface())})
		}
	}
	return list
}

// cloudConfigActions bring the configuration to where the chart mounts it.
func (m *migration) cloudConfigActions() []action.Action {
	if m.cloudConfig() == "" {
		return nil
	}
	return []action.Action{action.Create(action.SecretFromFile{
		Namespace: "kube-system", Name: ccm.CloudConfigSecret, Key: ccm.CloudConfigKey, File: cloudConfigFile,
	}, "before the chart, create the configuration of the provider, which the chart mounts; plan --out writes the file")}
}
