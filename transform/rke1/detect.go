// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"regexp"
	"slices"

	"github.com/rancher/wrangler/v3/pkg/data/convert"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Name is the format's name.
const Name = "rke1"

// words are those of the documents of RKE.
var words = transform.Words{{"rancher_kubernetes_engine_config"}, {"rancherKubernetesEngineConfig"}, {nodesKey, controlPlaneRole}, {providerKey, versionKey}}

// Other programs have nodes and a cloud_provider as well; a cluster.yml that cannot be read was
// meant where nodes with RKE's own role, or a provider next to a version, start a line.
var (
	wrapperWord  = regexp.MustCompile(`rancher_kubernetes_engine_config|rancherKubernetesEngineConfig`)
	nodesKeyWord = keyWord("nodes")
	providerWord = keyWord("cloud_provider")
	versionWord  = keyWord("kubernetes_version")
	roleWord     = regexp.MustCompile(`\bcontrolplane\b`)
)

// keyWord finds a key of the root: at the start of a line, or quoted, as JSON has
// it anywhere.
func keyWord(key string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\x{feff}?(?:\{ *)?["']?` + key + `["']? *:|"` + key + `" *:`)
}

// plausible is for a text with these words that cannot be read.
func plausible(text []byte) bool {
	return wrapperWord.Match(text) || nodesKeyWord.Match(text) && roleWord.Match(text) || providerWord.Match(text) && versionWord.Match(text)
}

// IsCluster reports whether a document holds a cluster of RKE.
func IsCluster(doc *yamledit.Document) bool {
	config, _, wrapped := configOf(doc.Root())
	if wrapped {
		return config.IsMap()
	}
	if !config.IsMap() || config.Get("kind").Exists() || config.Get("apiVersion").Exists() {
		return false
	}
	if slices.ContainsFunc(config.Get(nodesKey).Items(), hasRole) {
		return true
	}
	provider := config.Get(providerKey)
	return config.Get(versionKey).Exists() && (provider.IsMap() || provider.IsNull())
}

// hasRole reports whether a node is a control plane as RKE writes it.
func hasRole(n yamledit.Node) bool {
	return slices.ContainsFunc(n.Get("role").Items(), func(role yamledit.Node) bool { return role.StringAt() == controlPlaneRole })
}

// engineKey holds RKE's configuration in an object of Rancher's API.
const engineKey = "rancherKubernetesEngineConfig"

// isObject reports whether a document is an object as Rancher's API has it: no file
// of people has RKE's configuration in that spelling.
func isObject(doc *yamledit.Document) bool {
	_, s, wrapped := configOf(doc.Root())
	return wrapped && s == camel
}

// kept returns an object with RKE's configuration as it is after Rancher's Go types
// (github.com/rancher/rke/types): Rancher's controllers write the whole object through
// them, and so does its webhook up to 0.4 (rancher/webhook
// pkg/resources/management.cattle.io/v3/cluster/mutator.go). They know no difference
// between null, absent and empty, except where a field is a pointer to a struct: an
// awsCloudProvider without settings is not none.
func kept(object map[string]any) map[string]any {
	spec, _ := object["spec"].(map[string]any)
	raw, isMap := spec[engineKey].(map[string]any)
	if !isMap {
		return object
	}
	c, err := decode(raw, camel)
	var typed any
	if err != nil || convert.ToObj(c, &typed) != nil {
		return object // Rancher refuses it
	}
	return withKey(object, "spec", withKey(spec, engineKey, typed))
}
