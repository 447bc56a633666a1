// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"maps"
	"slices"
	"strings"

	provv1 "github.com/rancher/rancher/pkg/apis/provisioning.cattle.io/v1"
	rkev1 "github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1"
	"github.com/rancher/wrangler/v3/pkg/data/convert"

	"github.com/rke-lm/rke-lm/transform/args"
)

// psactSecret ends the name of the Secret from which Rancher's webhook lets machines
// get the configuration of pod security admission.
const psactSecret = "-admission-configuration-psact"

// kept returns an object with its specification as it is after Rancher's Go types,
// through which its controllers and its webhook write it. They know no difference
// between null, absent and empty, but in what machines are configured with and charts
// get, which they keep as it is. Where the cluster has a template for pod security admission, the
// webhook also writes kube-apiserver-arg of machineGlobalConfig, up to Rancher 2.11 in any
// order (ranchers.Release.OrderKept), and moves its own entry of machineSelectorFiles to
// the end.
func kept(object map[string]any) map[string]any {
	var spec provv1.ClusterSpec
	if convert.ToObj(object["spec"], &spec) != nil || spec.RKEConfig == nil {
		return object // Rancher refuses it, or does not provision it
	}
	c := spec.RKEConfig
	for i := range c.MachineSelectorConfig {
		withoutEmpty(&c.MachineSelectorConfig[i].Config)
	}
	withoutEmpty(&c.MachineGlobalConfig)
	withoutEmpty(&c.ChartValues)
	if spec.DefaultPodSecurityAdmissionConfigurationTemplateName != "" {
		if list, is := c.MachineGlobalConfig.Data[apiServerArgs].([]any); is {
			c.MachineGlobalConfig.Data[apiServerArgs] = append([]string{}, args.Texts(args.ForAPIServer(args.Of(list)))...) // an empty list stays one
		}
		c.MachineSelectorFiles = psactLast(c.MachineSelectorFiles)
	}
	var typed map[string]any
	if convert.ToObj(spec, &typed) != nil {
		return object
	}
	out := maps.Clone(object)
	out["spec"] = typed
	return out
}

// withoutEmpty makes a mapping without keys none.
func withoutEmpty(m *rkev1.GenericMap) {
	if len(m.Data) == 0 {
		m.Data = nil
	}
}

// psactLast returns files with the webhook's own after the others.
func psactLast(files []rkev1.RKEProvisioningFiles) []rkev1.RKEProvisioningFiles {
	own := func(f rkev1.RKEProvisioningFiles) bool {
		return len(f.FileSources) == 1 && strings.HasSuffix(f.FileSources[0].Secret.Name, psactSecret)
	}
	others := slices.DeleteFunc(slices.Clone(files), own)
	return append(others, slices.DeleteFunc(files, func(f rkev1.RKEProvisioningFiles) bool { return !own(f) })...)
}
