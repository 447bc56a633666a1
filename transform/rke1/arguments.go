// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// ownArgs are those of the arguments that RKE gives kube-controller-manager by itself
// which decide who runs cloud controllers (rancher/kontainer-driver-metadata,
// rke/k8s_service_options.go). A cluster's own arguments come after them, and win.
var ownArgs = []args.Arg{args.With("allocate-node-cidrs", "true"), args.With("configure-cloud-routes", "false"), args.With("leader-elect", "true")}

// ManagerArguments returns the arguments that RKE gives kube-controller-manager by a
// document, without secrets. from is how people call it.
func ManagerArguments(from string, doc *yamledit.Document) (check.Given, error) {
	c, err := load(doc)
	if err != nil {
		return check.Given{}, err
	}
	list := append(ownArgs[:len(ownArgs):len(ownArgs)], args.With(componentFlag, c.component(manager)))
	list = append(list, c.argsOf(manager)...)
	given := check.Given{From: from}
	for _, a := range list {
		shown, _ := redact.Value(a.Name, a.Value).(string)
		given.Args = append(given.Args, "--"+a.Name+"="+shown)
	}
	return given, nil
}

// Served are RKE's configurations in an object of management.cattle.io; nil for one
// that is not there.
type Served struct {
	Applied map[string]any // status.appliedSpec: what all machines had when Rancher was last done
	Spec    map[string]any // spec: what it brings them to
	Failed  map[string]any // status.failedSpec: what it failed at, and some may have
}

// Arguments returns what kube-controller-manager has by what was applied, and what it
// may have since on some machines. Before Rancher was done once, ok is false.
func (s Served) Arguments(name string) (applied check.Given, open []check.Given, ok bool, err error) {
	if len(s.Applied) == 0 {
		return applied, nil, false, nil
	}
	for _, part := range []struct {
		at     string
		config map[string]any
	}{{"status.appliedSpec", s.Applied}, {"spec", s.Spec}, {"status.failedSpec", s.Failed}} {
		if len(part.config) == 0 {
			continue
		}
		given, err := servedPart(part.at+" of "+name, part.config)
		if err != nil {
			return applied, nil, false, fmt.Errorf("%s: %w", name, err)
		}
		open = append(open, given)
	}
	return open[0], open[1:], true, nil
}

func servedPart(from string, config map[string]any) (check.Given, error) {
	text, _ := json.Marshal(map[string]any{wrappers[1]: config}) // it was decoded from JSON
	doc, err := yamledit.ParseString(from, string(text))
	if err != nil {
		return check.Given{}, err
	}
	return ManagerArguments(from, doc)
}

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
