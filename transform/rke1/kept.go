// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"encoding/json"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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
	if err != nil {
		return object // Rancher refuses it
	}
	text, err := json.Marshal(c)
	if err != nil {
		return object
	}
	var typed any
	if err := json.Unmarshal(text, &typed); err != nil {
		return object
	}
	return withKey(object, "spec", withKey(spec, engineKey, typed))
}
