// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform"
)

// cloudConfigArg names the file of the provider's configuration.
const cloudConfigArg = "--cloud-config=/etc/aws-cloud-config/cloud.conf"

// isInstall wants the chart that was chosen after all other documents, or the
// one that is there to gain what it lacks.
func isInstall(o *outcome, d difference) error {
	if isElsewhere(d) || o.Target.Situation == transform.Broken && strings.HasSuffix(d.path, ".cloud-provider-config") && d.after == absent && chartHasConfig(o) {
		return nil
	}
	m, err := readManifestChange(d)
	if err != nil {
		return err
	}
	config, err := cloudConfigOf(o.values[0])
	if err != nil {
		return err
	}
	added, err := m.keepsOthers()
	switch {
	case err != nil:
		return err
	case m.has.at < 0:
		return errors.New("there is no chart")
	case m.had.at >= 0 && (added > 0 || m.has.at != m.had.at):
		return errors.New("a chart is there, and a document is added")
	case m.had.at >= 0:
		err = m.isCompleted(o.Target)
	default:
		err = m.isNew(o.Target, config)
	}
	if err != nil {
		return err
	}
	return errors.Join(m.has.runs(o.Target, config), m.has.lands(o.values[0]))
}

// cloudConfigOf returns the provider's configuration of control planes.
func cloudConfigOf(cluster any) (config string, err error) {
	err = eachMachine(cluster, cluster, func(machine labels.Set, before, _ map[string]any) error {
		if text, isText := before["cloud-provider-config"].(string); isText && isControlPlane(machine) {
			config = text
		}
		return nil
	})
	return config, err
}

// isNew compares the added documents with what was chosen.
func (m manifestChange) isNew(t transform.Target, config string) error {
	added := m.after[len(m.before):]
	if config != "" && !strings.HasPrefix(config, "secret://") {
		secret := map[string]any{
			"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"cloud.conf": config},
			"metadata": map[string]any{"name": "aws-cloud-config", "namespace": "kube-system"},
		}
		if len(added) != 2 || !reflect.DeepEqual(added[0], any(secret)) {
			return errors.New("no Secret has the provider's configuration")
		}
		added = added[1:]
	}
	if len(added) != 1 {
		return fmt.Errorf("%d documents are added", len(added))
	}
	spec := maps.Clone(m.has.root["spec"].(map[string]any))
	delete(spec, "valuesContent")
	want := map[string]any{
		"bootstrap": true, "chart": "aws-cloud-controller-manager", "failurePolicy": "abort", "targetNamespace": "kube-system",
		"repo": chosen(t.ChartRepo, "https://kubernetes.github.io/cloud-provider-aws"), "version": chosen(t.ChartVersion, "0.0.8"),
	}
	root := maps.Clone(m.has.root)
	delete(root, "spec")
	if !reflect.DeepEqual(spec, want) || !reflect.DeepEqual(root, map[string]any{
		"apiVersion": "helm.cattle.io/v1", "kind": "HelmChart",
		"metadata": map[string]any{"name": "aws-cloud-controller-manager", "namespace": "kube-system"},
	}) {
		return errors.New("the HelmChart is not the one that was chosen")
	}
	return m.has.hasValuesOf(t, config)
}

func chosen(s, usual string) string {
	if s == "" {
		return usual
	}
	return s
}

// hasValuesOf wants a new chart to have the values for the cluster's minor.
func (c chartIn) hasValuesOf(t transform.Target, config string) error {
	want := []string{"--v=2", "--cloud-provider=aws", "--configure-cloud-routes=false"}
	if !t.NoLeaderMigration {
		want = append(want, "--enable-leader-migration=true")
	}
	image := map[string]any{"tag": chosen(t.ImageTag, "v1.26.6")}
	if t.ImageRepository != "" {
		image["repository"] = t.ImageRepository
	}
	known := []string{"args", "image", "hostNetworking", "nodeSelector", "tolerations"}
	if config != "" {
		want = append(want, cloudConfigArg)
		known = append(known, "extraVolumes", "extraVolumeMounts")
	}
	keys := slices.Sorted(maps.Keys(c.values))
	slices.Sort(known)
	switch {
	case !slices.Equal(c.args(), want):
		return fmt.Errorf("the chart's arguments are %q", c.args())
	case !reflect.DeepEqual(c.values["image"], any(image)):
		return errors.New("the image is not the one that was chosen")
	case !slices.Equal(keys, known):
		return fmt.Errorf("the chart's values have the keys %q", keys)
	}
	return nil
}

// isCompleted wants a chart that is there to change in what it lacks alone.
func (m manifestChange) isCompleted(t transform.Target) error {
	had, has := m.had.root["spec"].(map[string]any), m.has.root["spec"].(map[string]any)
	if err := keysBut(m.had.root, m.has.root, "spec"); err != nil {
		return err
	}
	for _, d := range differences(had, has) {
		if key := d.is[0]; key != "valuesContent" && (d.before != absent || key != "version" && key != "failurePolicy") {
			return fmt.Errorf("%s of the chart changes", spot(d.is))
		}
	}
	if m.had.values == nil {
		return nil // all of them are new
	}
	ours := []string{"enable-leader-migration", "configure-cloud-routes", "cloud-provider", "cloud-config"}
	if !slices.Equal(m.had.argsBut(ours...), m.has.argsBut(ours...)) {
		return errors.New("other arguments of the chart change")
	}
	if t.NoLeaderMigration && m.has.migrates() {
		return errors.New("the flag stays without leader migration")
	}
	if err := keysBut(m.had.values, m.has.values, "args", "image", "hostNetworking", "nodeSelector", "tolerations", "extraVolumes", "extraVolumeMounts"); err != nil {
		return err
	}
	if tag := field(m.had.values, "image", "tag"); tag != nil && t.Situation.HasInTreeProvider() && tag != field(m.has.values, "image", "tag") {
		return errors.New("the image is pinned, and changes")
	}
	return m.gainsOnly("image", "hostNetworking", "nodeSelector", "tolerations", "extraVolumes", "extraVolumeMounts")
}

func (m manifestChange) gainsOnly(keys ...string) error {
	for _, key := range keys {
		if !grows(m.had.values[key], m.has.values[key]) {
			return fmt.Errorf("%s of the chart changes", key)
		}
	}
	return nil
}

// runs wants the arguments and the pins with which the manager takes part in the
// migration, and lives through gaining the lease.
func (c chartIn) runs(t transform.Target, config string) error {
	provider, _ := c.arg("cloud-provider")
	routes, set := c.arg("configure-cloud-routes")
	_, ranged := c.arg("cluster-cidr")
	_, configured := c.arg("cloud-config")
	tag, _ := field(c.values, "image", "tag").(string)
	version, _ := field(c.root, "spec", "version").(string)
	switch {
	case provider != "aws":
		return errors.New("the manager has no provider")
	case !(set && routes == "false") && !ranged:
		return errors.New("the manager configures routes without a range")
	case !c.migrates() && !t.NoLeaderMigration:
		return errors.New("the manager takes no part in the migration")
	case config != "" && !configured:
		return errors.New("the manager loses the provider's configuration")
	case tag == "" || version == "" && !c.packed():
		return errors.New("the chart or its image is not pinned")
	}
	return nil
}

// lands wants a pod on every control plane: what Rancher and a pool taint is
// tolerated, and RKE2's role label selected.
func (c chartIn) lands(cluster any) error {
	var values struct {
		NodeSelector map[string]string
		Tolerations  []corev1.Toleration
	}
	text, err := yaml.Marshal(c.values)
	if err == nil {
		err = yaml.Unmarshal(text, &values)
	}
	if err != nil {
		return err
	}
	const role = "node-role.kubernetes.io/control-plane"
	if values.NodeSelector[role] != "true" {
		return errors.New("the chart selects no node of RKE2")
	}
	taints, err := controlPlaneTaints(cluster)
	for _, taint := range taints {
		tolerates := func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Logger{}, &taint, false) }
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(values.Tolerations, tolerates) {
			return fmt.Errorf("the taint %s of a control plane is not tolerated", taint.Key)
		}
	}
	return err
}

// controlPlaneTaints returns the taints of pools of control planes, and those that
// Rancher gives to machines that are no workers.
func controlPlaneTaints(cluster any) ([]corev1.Taint, error) {
	var read struct {
		Spec struct {
			RKEConfig struct {
				MachinePools []struct {
					ControlPlaneRole, EtcdRole, WorkerRole bool
					Taints                                 []corev1.Taint
				}
			}
		}
	}
	text, err := yaml.Marshal(cluster)
	if err == nil {
		err = yaml.Unmarshal(text, &read)
	}
	pools := read.Spec.RKEConfig.MachinePools
	var taints []corev1.Taint
	for _, p := range pools {
		if !p.ControlPlaneRole {
			continue
		}
		taints = append(taints, p.Taints...)
		if !p.WorkerRole {
			taints = append(taints, corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule})
		}
		if p.EtcdRole && !p.WorkerRole {
			taints = append(taints, corev1.Taint{Key: "node-role.kubernetes.io/etcd", Effect: corev1.TaintEffectNoExecute})
		}
	}
	return taints, err
}
