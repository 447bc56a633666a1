// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// spelling is how a document writes RKE's keys.
type spelling bool

const (
	snake spelling = false // extra_args, as a cluster.yml and Rancher's interface have it
	camel spelling = true  // extraArgs, as Rancher's API has it
)

// The keys of RKE (rancher/rke, types), as a cluster.yml spells them.
const (
	servicesKey   = "services"
	apiService    = "kube-api"
	manager       = "kube-controller"
	kubelet       = "kubelet"
	scheduler     = "scheduler"
	proxy         = "kubeproxy"
	argsKey       = "extra_args"
	argsArrayKey  = "extra_args_array"
	winArgsKey    = "win_extra_args"
	winArrayKey   = "win_extra_args_array"
	providerKey   = "cloud_provider"
	nameKey       = "name"
	metadataKey   = "useInstanceMetadataHostname" // in both spellings
	awsKey        = "awsCloudProvider"            // in both
	customKey     = "customCloudProvider"         // in both
	versionKey    = "kubernetes_version"
	nodesKey      = "nodes"
	addonsKey     = "addons"
	clusterKey    = "cluster_name"
	overridesKey  = "service_override"
	imagesKey     = "system_images"
	kubernetesKey = "kubernetes"
)

// of returns how a key of RKE is written.
func (s spelling) of(key string) string {
	if s == snake {
		return key
	}
	words := strings.FieldsFunc(key, func(r rune) bool { return r == '_' || r == '-' })
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// get follows keys of RKE from mapping to mapping. A service may be written with
// an underscore (kube_controller), as Rancher's templates do.
func (s spelling) get(n yamledit.Node, keys ...string) yamledit.Node {
	for _, key := range keys {
		at := n.Get(s.of(key))
		if !at.Exists() && s == snake {
			at = n.Get(strings.ReplaceAll(key, "-", "_"))
		}
		n = at
	}
	return n
}

// The keys below which Rancher's objects hold the configuration, and the paths to
// these keys: the root, the spec of an object, and a cluster template.
var (
	wrappers = []string{"rancher_kubernetes_engine_config", "rancherKubernetesEngineConfig"}
	parents  = [][]string{{}, {"spec"}, {"clusterConfig"}, {"spec", "clusterConfig"}}
)

// configOf returns RKE's configuration in a document. wrapped distinguishes one that an
// object of Rancher holds.
func configOf(root yamledit.Node) (config yamledit.Node, s spelling, wrapped bool) {
	for _, path := range parents {
		for i, key := range wrappers {
			if n := root.Get(path...).Get(key); n.Exists() {
				return n, spelling(i == 1), true
			}
		}
	}
	return root, snake, false
}
