// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/rancher/rke/types"
	yaml "go.yaml.in/yaml/v2"
	kjson "k8s.io/apimachinery/pkg/util/json"
	sjson "sigs.k8s.io/json"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
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
	doc, err := yamledit.ParseString(from, yamledit.JSON(map[string]any{wrappers[1]: config}))
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

// config is what RKE reads of a document.
type config = types.RancherKubernetesEngineConfig

// read decodes a configuration as RKE does a cluster.yml, and Rancher its API:
// unknown keys are left out, and a value of another type fails the whole cluster.
func read(at yamledit.Node, s spelling) (config, error) {
	c, err := decode(normal(at.Value(), s), s)
	if err == nil {
		return c, nil
	}
	for _, e := range at.Entries() {
		part := normal(map[string]any{e.Key: e.Value.Value()}, s)
		if _, err := decode(part, s); err != nil {
			return c, e.Value.Errorf("a value does not have the type that RKE expects, and RKE rejects the whole cluster", "correct it")
		}
	}
	return c, at.Errorf("RKE cannot read this configuration", "correct it")
}

func decode(v any, s spelling) (c config, err error) {
	if text := []byte(yamledit.JSON(v)); s == camel {
		err = kjson.Unmarshal(text, &c)
	} else {
		err = yaml.Unmarshal(text, &c)
	}
	return c, err
}

// normal brings a value to what RKE's types know: services are written with a
// dash, flags have strings for values (as RKE's own reader takes true and 200,
// and the rule extra-args-type checks), and what RKE reads apart is left out.
func normal(v any, s spelling) any {
	root, _ := v.(map[string]any) // a configuration is a mapping
	if provider, isMap := root[providerKey].(map[string]any); isMap && s == snake {
		root = withKey(root, providerKey, normalProvider(provider))
	}
	services, isMap := root[servicesKey].(map[string]any)
	if !isMap {
		return root
	}
	out := map[string]any{}
	for key, service := range services {
		name := key
		if s == snake && strings.HasPrefix(key, "kube_") {
			name = strings.ReplaceAll(key, "_", "-")
		}
		if _, both := services[name]; both && name != key {
			continue
		}
		out[name] = normalService(service, s)
	}
	return withKey(root, servicesKey, out)
}

// normalProvider takes the settings of services in the spelling of Rancher's API,
// too: only there they are documented.
func normalProvider(provider map[string]any) map[string]any {
	const inAPI = "serviceOverride"
	block, _ := provider[awsKey].(map[string]any)
	overrides, set := block[inAPI]
	if _, both := block[overridesKey]; !set || both {
		return provider
	}
	block = withKey(block, overridesKey, overrides)
	delete(block, inAPI)
	return withKey(provider, awsKey, block)
}

func normalService(v any, s spelling) any {
	service, isMap := v.(map[string]any)
	if !isMap {
		return v
	}
	for _, key := range []string{argsKey, winArgsKey} {
		flags, isMap := service[s.of(key)].(map[string]any)
		if !isMap {
			continue
		}
		texts := make(map[string]any, len(flags))
		for flag, value := range flags {
			switch value.(type) {
			case bool, float64:
				value = fmt.Sprint(value)
			}
			texts[flag] = value
		}
		service = withKey(service, s.of(key), texts)
	}
	const encryption, custom = "secrets_encryption_config", "custom_config"
	if e, isMap := service[s.of(encryption)].(map[string]any); isMap && s == snake {
		service = withKey(service, encryption, withKey(e, custom, nil))
	}
	return service
}

// withKey returns a copy of a mapping with another value for a key.
func withKey(m map[string]any, key string, v any) map[string]any {
	out := maps.Clone(m)
	out[key] = v
	return out
}

var (
	unknownField = regexp.MustCompile(`field \S+ (?:not found|already set) in type \S+`)
	wrongType    = regexp.MustCompile(`cannot unmarshal (!!\w+) .*into (\S+)`)
)

// strictness is what strict decoding says about fields.
func (c *Cluster) strictness() k8s.Strictness {
	const what = "the configuration of an RKE cluster"
	var into config
	text := []byte(yamledit.JSON(normal(c.Config.Value(), c.spelling)))
	if c.spelling == camel {
		fields, err := sjson.UnmarshalStrict(text, &into)
		return k8s.NewStrictness(what, lists.Map(fields, error.Error), err)
	}
	err := yaml.UnmarshalStrict(text, &into)
	if wrong := (*yaml.TypeError)(nil); errors.As(err, &wrong) {
		return k8s.NewStrictness(what, lists.Map(wrong.Errors, withoutValue), nil)
	}
	return k8s.NewStrictness(what, nil, err)
}

// withoutValue takes the line and the value out of a message.
func withoutValue(message string) string {
	if field := unknownField.FindString(message); field != "" {
		return field
	}
	if m := wrongType.FindStringSubmatch(message); m != nil {
		return "a " + m[1] + " where " + m[2] + " is expected"
	}
	return "a value of another type"
}
