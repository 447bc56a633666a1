// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// rke1Kind are files and objects of RKE, and parts of one.
var rke1Kind = corpusKind{
	format: rke1.Format(),
	in:     func(c yamledit.Chunk) bool { return strings.HasPrefix(c.File, "rke1/") },
	isPart: func(doc *yamledit.Document) bool { return doc.Root().IsMap() }, graftParts: true,
	turns:   [][]choice{{{name: "external", target: transform.Target{EndState: transform.EndStateExternal}}}},
	sampled: 9, fewest: 60,
	at: func(doc *yamledit.Document) yamledit.Node {
		if n := doc.Root().Get("rancher_kubernetes_engine_config"); n.IsMap() {
			return n
		}
		return doc.Root()
	},
	first: []graftEdit{putAt("v1.26.15-rancher1-1", "kubernetes_version")}, grafts: rke1Grafts,
	layouts: []layout{{"as Rancher's API has it", asInAPI}},
	promises: map[string]func(*outcome, difference) error{
		stages.GrantMigrationLease: inClusterYML(func(d difference) bool {
			asRKE2 := d
			asRKE2.path = "spec.rkeConfig.additionalManifest"
			return d.path == "addons" && isGrant(asRKE2)
		}),
		stages.EnableLeaderMigration: inClusterYML(isManagerFlagSet),
		stages.SwitchToExternal:      inClusterYML(isRKE1Switch),
	},
	end: endsExternalAWS,
}

// putAt puts a value at a path, with the mappings that are missing above it.
func putAt(value any, path ...string) graftEdit {
	return func(e *yamledit.Edit, at yamledit.Node) {
		for i, key := range path {
			if old := strings.ReplaceAll(key, "-", "_"); at.Get(old).Exists() {
				key = old
			}
			next := at.Get(key)
			if next.IsMap() && i < len(path)-1 {
				at = next
				continue
			}
			value := value
			for j := len(path) - 1; j > i; j-- {
				value = yamledit.Map{{Key: path[j], Value: value}}
			}
			put(e, at, key, value)
			return
		}
	}
}

var (
	awsName  = putAt("aws", "cloud_provider", "name")
	awsBlock = yamledit.Map{{Key: "global", Value: yamledit.Map{{Key: "zone", Value: "eu-west-1a"}, {Key: "kubernetes-cluster-id", Value: "harbour"}}}}
)

// managerArg puts below the arguments of kube-controller-manager.
func managerArg(value any, path ...string) graftEdit {
	return putAt(value, append([]string{"services", "kube-controller"}, path...)...)
}

var rke1Grafts = []graft{
	{"for the name only", []graftEdit{awsName}},
	{"name and block", []graftEdit{awsName, putAt(awsBlock, "cloud_provider", "awsCloudProvider")}},
	{"the block alone", []graftEdit{putAt(yamledit.Map{{Key: "awsCloudProvider", Value: awsBlock}}, "cloud_provider")}},
	{"an empty block", []graftEdit{awsName, putAt(yamledit.Map{}, "cloud_provider", "awsCloudProvider")}},
	{"a text of its own", []graftEdit{awsName, putAt("[Global]\nZone = eu-west-1a", "cloud_provider", "customCloudProvider")}},
	{"an explicit false", []graftEdit{awsName, putAt(false, "cloud_provider", "useInstanceMetadataHostname")}},
	{"no services", []graftEdit{awsName, putAt(nil, "services")}},
	{"an empty service", []graftEdit{awsName, managerArg(yamledit.Map{})}},
	{"empty arguments", []graftEdit{awsName, managerArg(yamledit.Map{}, "extra_args")}},
	{"null arguments", []graftEdit{awsName, managerArg(nil, "extra_args")}},
	{"other arguments", []graftEdit{awsName, managerArg(yamledit.Map{{Key: "v", Value: "2"}, {Key: "feature-gates", Value: "RotateKubeletServerCertificate=true"}}, "extra_args")}},
	{"the flag unquoted", []graftEdit{awsName, managerArg(true, "extra_args", "enable-leader-migration")}},
	{"the flag off", []graftEdit{awsName, managerArg("false", "extra_args", "enable-leader-migration")}},
	{"the flag repeated, off", []graftEdit{awsName, managerArg([]string{"false"}, "extra_args_array", "enable-leader-migration")}},
	{"arguments for Windows as well", []graftEdit{awsName, managerArg(yamledit.Map{{Key: "v", Value: "4"}}, "win_extra_args")}},
	{"aws among the arguments of components", []graftEdit{awsName,
		putAt("aws", "services", "kubelet", "extra_args", "cloud-provider"), putAt("aws", "services", "kube-api", "extra_args", "cloud-provider"), managerArg([]string{"aws"}, "extra_args_array", "cloud-provider")}},
	{"manifests of its own", []graftEdit{awsName, putAt(twoManifests, "addons")}},
	{"empty manifests", []graftEdit{awsName, putAt("", "addons")}},
	{"null manifests", []graftEdit{awsName, putAt(nil, "addons")}},
}

// asInAPI writes what RKE reads of a document as Rancher's API does.
func asInAPI(doc *yamledit.Document) ([]byte, error) {
	c, err := rke1.Open(doc, "")
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(map[string]any{"name": "harbour", "rancherKubernetesEngineConfig": c.Read}, "", "  ")
}

// inClusterYML is a promise about values at the paths of a cluster.yml.
func inClusterYML(is func(difference) bool) func(*outcome, difference) error {
	return func(o *outcome, d difference) error {
		d.path = asInClusterYML(d.path)
		return when(is)(o, d)
	}
}

// asInClusterYML spells the path to a value as a cluster.yml does.
func asInClusterYML(path string) string {
	for _, wrapper := range []string{"rancher_kubernetes_engine_config.", "rancherKubernetesEngineConfig."} {
		path = strings.TrimPrefix(path, wrapper)
	}
	return strings.NewReplacer("cloudProvider.", "cloud_provider.", "kubeController", "kube-controller", "kube_controller", "kube-controller",
		"extraArgsArray", "extra_args_array", "extraArgs", "extra_args", "kubernetesVersion", "kubernetes_version").Replace(path)
}

const (
	managerFlag  = "services.kube-controller.extra_args.enable-leader-migration"
	managerFlags = "services.kube-controller.extra_args_array.enable-leader-migration"
)

// leavesOf returns the values below a place by the paths to them; nothing for what
// is absent, null or empty.
func leavesOf(path string, v any) map[string]any {
	found := map[string]any{}
	switch v := v.(type) {
	case absence, nil:
	case map[string]any:
		for key, inner := range v {
			maps.Copy(found, leavesOf(asInClusterYML(path+"."+key), inner))
		}
	case []any:
		for _, inner := range v {
			found[path] = inner
		}
	default:
		found[strings.TrimSuffix(path, "[]")] = v
	}
	return found
}

// isManagerFlagSet wants the flag alone to come, as a string, or to be switched on.
func isManagerFlagSet(d difference) bool {
	after := leavesOf(d.path, d.after)
	before := leavesOf(d.path, d.before)
	value, set := after[managerFlag]
	if repeated, found := after[managerFlags]; found {
		value, set = repeated, true
	}
	if !set || value != "true" || len(after) != 1 {
		return false
	}
	for path, old := range before {
		if path != managerFlag && path != managerFlags || fmt.Sprint(old) != "false" {
			return false
		}
	}
	return true
}

func isRKE1Switch(d difference) bool {
	switch {
	case d.path == "cloud_provider.name":
		return d.after == "external-aws" && slices.Contains([]any{"aws", "", nil, absent}, d.before)
	case d.path == "cloud_provider.useInstanceMetadataHostname":
		return d.after == true
	case d.path == "cloud_provider.awsCloudProvider":
		return d.after == absent
	case d.path == "cloud_provider.customCloudProvider":
		text, _ := d.after.(string)
		return (d.before == absent || d.before == "") && strings.HasPrefix(text, "[")
	case strings.HasSuffix(strings.TrimSuffix(d.path, "[]"), "."+"cloud-provider"):
		return d.before == "aws" && d.after == "external"
	}
	before := leavesOf(d.path, d.before)
	delete(before, managerFlag)
	delete(before, managerFlags)
	return strings.HasPrefix(d.path, "services") && d.after == absent && len(before) == 0
}

// endsExternalAWS wants what RKE reads in the end to be external, whatever was there.
func endsExternalAWS(o *outcome) error {
	value := o.values[len(o.Steps)]
	for _, wrapper := range []string{"rancher_kubernetes_engine_config", "rancherKubernetesEngineConfig"} {
		if inner := field(value, wrapper); inner != nil {
			value = inner
		}
	}
	name, block := cmp.Or(field(value, "cloud_provider", "name"), field(value, "cloudProvider", "name")), cmp.Or(field(value, "cloud_provider", "awsCloudProvider"), field(value, "cloudProvider", "awsCloudProvider"))
	switch {
	case name != "external-aws":
		return fmt.Errorf("the provider is %v, not external-aws", name)
	case block != nil:
		return errors.New("the block awsCloudProvider is still there")
	case strings.Contains(fmt.Sprint(field(value, "services")), "enable-leader-migration"):
		return errors.New("a service keeps the flag")
	}
	return nil
}
