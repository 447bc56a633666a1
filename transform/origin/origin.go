// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package origin tells which other program an object comes from: one that would
// take an edit of the object back.
//
// Invariant: an owner is named with the mark that shows it. Rancher's own programs
// and people are no owners. Who writes through Rancher's own API, as Terraform's
// rancher2 provider does, writes in Rancher's name and leaves no mark.
package origin

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// Owner is a program that keeps an object as its source says.
type Owner struct {
	Name string // "Fleet"
	Mark string // where the object shows it: "the annotation objectset.rio.cattle.io/id"
}

var errNoObject = errors.New("the text is no object of Kubernetes")

// object is as much of an object as shows where it comes from.
type object struct {
	Metadata struct {
		Labels        map[string]string `json:"labels"`
		Annotations   map[string]string `json:"annotations"`
		ManagedFields []struct {
			Manager     string `json:"manager"`
			Subresource string `json:"subresource"`
			Fields      struct {
				Spec json.RawMessage `json:"f:spec"`
			} `json:"fieldsV1"`
		} `json:"managedFields"`
	} `json:"metadata"`
	Spec struct {
		Template string `json:"clusterTemplateRevisionName"`
	} `json:"spec"`
}

// Of returns the owners of an object, each once.
func Of(raw []byte) ([]Owner, error) {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil, errNoObject
	}
	var list []Owner
	add := func(found Owner) {
		if !slices.ContainsFunc(list, func(w Owner) bool { return w.Name == found.Name }) {
			list = append(list, found)
		}
	}
	for _, m := range marks {
		if m.in(o) {
			add(Owner{m.owner, m.kind + " " + m.key})
		}
	}
	for _, f := range o.Metadata.ManagedFields {
		if owner, known := writer(f.Manager); known && f.Subresource == "" && len(f.Fields.Spec) > 0 {
			add(Owner{owner, "the field manager " + f.Manager})
		}
	}
	if o.Spec.Template != "" {
		add(Owner{"an RKE template", "the field spec.clusterTemplateRevisionName"})
	}
	return list, nil
}

// mark is a label or an annotation that an owner leaves.
type mark struct{ owner, kind, key string }

const (
	label      = "the label"
	annotation = "the annotation"
)

// What Rancher makes of its own objects is marked as that of Fleet is, and names its
// owner besides (wrangler, pkg/apply).
const (
	objectSet      = "objectset.rio.cattle.io/id"
	objectSetOwner = "objectset.rio.cattle.io/owner-gvk"
)

var marks = []mark{
	{"Fleet", annotation, objectSet},
	{"Argo CD", annotation, "argocd.argoproj.io/tracking-id"},
	{"Argo CD", annotation, "argocd.argoproj.io/installation-id"},
	{"Argo CD", label, "argocd.argoproj.io/instance"},
	{"Flux", label, "kustomize.toolkit.fluxcd.io/name"},
	{"Flux", label, "helm.toolkit.fluxcd.io/name"},
	{"Helm", annotation, "meta.helm.sh/release-name"},
}

func (m mark) in(o object) bool {
	set := o.Metadata.Annotations
	if m.kind == label {
		set = o.Metadata.Labels
	}
	if _, made := set[objectSetOwner]; made && m.key == objectSet {
		return false
	}
	return set[m.key] != ""
}

// writers are the beginnings of the names under which programs write.
var writers = []struct{ prefix, owner string }{
	{"fleetagent", "Fleet"}, {"fleet-agent", "Fleet"},
	{"argocd", "Argo CD"},
	{"kustomize-controller", "Flux"}, {"helm-controller", "Flux"},
	{"terraform", "Terraform"}, {"hashicorp", "Terraform"}, {"opentofu", "Terraform"},
	{"pulumi", "Pulumi"},
	{"helm", "Helm"},
}

// writer returns the program behind the name of a field manager.
func writer(manager string) (string, bool) {
	for _, w := range writers {
		if strings.HasPrefix(strings.ToLower(manager), w.prefix) {
			return w.owner, true
		}
	}
	return "", false
}
