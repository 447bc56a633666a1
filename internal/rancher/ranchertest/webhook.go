// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ranchertest

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"

	provv1 "github.com/rancher/rancher/pkg/apis/provisioning.cattle.io/v1"
	rkev1 "github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1"
	rketypes "github.com/rancher/rke/types"
)

// Webhook is what Rancher's webhook and its controllers make of a cluster's object, in
// the releases that make the most of it: 0.3 and 0.4, of Rancher 2.7 and 2.8
// (rancher/webhook, mutator.go of both clusters). It is not called in a dry run.
type Webhook struct{ order *rand.Rand }

// NewWebhook returns a webhook whose random orders are those of a seed.
func NewWebhook(seed uint64) *Webhook { return &Webhook{rand.New(rand.NewPCG(seed, 13))} }

// Admit returns an object as the webhook lets it through. That of an RKE cluster goes
// through its types; where an RKE2 cluster has a template for pod security admission,
// the arguments of kube-apiserver are read into a map and written in its order; it patches
// no more of that cluster.
func (w *Webhook) Admit(object []byte) []byte {
	o := decoded(object)
	w.Change(o)
	return encoded(o)
}

// Change does the same to an object in place, as [Server] does after a patch.
func (w *Webhook) Change(o map[string]any) {
	if ThroughEngine(o) {
		return
	}
	spec, _ := o["spec"].(map[string]any)
	if name, _ := spec[psactKey].(string); name == "" {
		return
	}
	config, _ := spec["rkeConfig"].(map[string]any)
	if config == nil {
		return
	}
	global, _ := config[globalKey].(map[string]any)
	if global == nil {
		global = map[string]any{}
		config[globalKey] = global
	}
	const file = "admission-control-config-file"
	metadata, _ := o["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	flags := flagsOf(global[apiServerKey])
	flags[file] = "/etc/rancher/rke2/config/rancher-psact.yaml"
	global[apiServerKey] = w.list(flags)
	config[filesKey] = withFile(config[filesKey], name+"-admission-configuration-psact", flags[file])
}

const (
	psactKey     = "defaultPodSecurityAdmissionConfigurationTemplateName"
	apiServerKey = "kube-apiserver-arg"
	globalKey    = "machineGlobalConfig"
	filesKey     = "machineSelectorFiles"
)

// flagsOf reads arguments as the webhook does: those without a value are lost, and so
// are all but the last of a flag.
func flagsOf(v any) map[string]string {
	flags := map[string]string{}
	list, _ := v.([]any)
	for _, item := range list {
		text, _ := item.(string)
		if name, value, has := strings.Cut(text, "="); has {
			flags[name] = value
		}
	}
	return flags
}

// list writes them in any order.
func (w *Webhook) list(flags map[string]string) []any {
	var list []any
	for name, value := range flags {
		list = append(list, name+"="+value)
	}
	slices.SortFunc(list, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	w.order.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// withFile takes the webhook's own file out of files, and adds it at the end.
func withFile(v any, secret, path string) any {
	var files []rkev1.RKEProvisioningFiles
	into(v, &files)
	files = slices.DeleteFunc(files, func(f rkev1.RKEProvisioningFiles) bool {
		return len(f.FileSources) == 1 && f.FileSources[0].Secret.Name == secret
	})
	files = append(files, rkev1.RKEProvisioningFiles{FileSources: []rkev1.ProvisioningFileSource{{
		Secret: rkev1.K8sObjectFileSource{Name: secret, Items: []rkev1.KeyToPath{{Key: "admission-config-psact", Path: path, Hash: "6b86b273"}}},
	}}})
	var list []any
	into(files, &list)
	return list
}

// Kept returns an object as Rancher's controllers write it at any time: through the
// types of its kind.
func (*Webhook) Kept(object []byte) []byte {
	o := decoded(object)
	if !ThroughEngine(o) {
		var typed provv1.ClusterSpec
		into(o["spec"], &typed)
		o["spec"] = decoded(encoded(typed))
	}
	return encoded(o)
}

const engineKey = "rancherKubernetesEngineConfig"

// ThroughEngine takes RKE's configuration through its types, which have an empty mapping for every service and know no
// other keys, and reports whether there is one.
func ThroughEngine(o map[string]any) bool {
	spec, _ := o["spec"].(map[string]any)
	if spec[engineKey] == nil {
		return false
	}
	var typed rketypes.RancherKubernetesEngineConfig
	into(spec[engineKey], &typed)
	spec[engineKey] = decoded(encoded(typed))
	return true
}

func decoded(text []byte) (o map[string]any) {
	if err := json.Unmarshal(text, &o); err != nil {
		panic(err)
	}
	return o
}

func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func into(v, typed any) {
	if err := json.Unmarshal(encoded(v), typed); err != nil {
		panic(err)
	}
}
