// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/rancher/rke/types"
	yaml "go.yaml.in/yaml/v2"
	kjson "k8s.io/apimachinery/pkg/util/json"
	sjson "sigs.k8s.io/json"

	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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
	text, err := json.Marshal(v)
	switch {
	case err != nil:
	case s == camel:
		err = kjson.Unmarshal(text, &c)
	default:
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
	text, err := json.Marshal(normal(c.Config.Value(), c.spelling))
	if err == nil && c.spelling == camel {
		fields, err := sjson.UnmarshalStrict(text, &into)
		return k8s.NewStrictness(what, lists.Map(fields, error.Error), err)
	}
	if err == nil {
		err = yaml.UnmarshalStrict(text, &into)
	}
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
