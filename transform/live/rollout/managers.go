// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/k8s"
)

// manager is a program that keeps an object as its source says.
type manager struct {
	Name string // "Fleet"
	Mark string // where the object shows it: "the annotation objectset.rio.cattle.io/id"
}

var errNoObject = errors.New("the text is not a Kubernetes object")

// managersOf returns the managers of an object, each once. A manager is named with the
// mark that shows it. Rancher's own programs and people are no managers. What writes
// through Rancher's own API, as Terraform's rancher2 provider does, writes in Rancher's
// name and leaves no mark.
func managersOf(raw []byte) ([]manager, error) {
	var o head
	if json.Unmarshal(raw, &o) != nil {
		return nil, errNoObject
	}
	var list []manager
	add := func(found manager) {
		if !slices.ContainsFunc(list, func(w manager) bool { return w.Name == found.Name }) {
			list = append(list, found)
		}
	}
	for _, m := range marks {
		if m.in(o) {
			add(manager{m.manager, m.kind + " " + m.key})
		}
	}
	for _, f := range o.ManagedFields {
		if name, known := writer(f.Manager); known && f.Subresource == "" && k8s.Sets(f, "f:spec") {
			add(manager{name, "the field manager " + f.Manager})
		}
	}
	if o.Spec.Template != "" {
		add(manager{"an RKE template", "the field spec.clusterTemplateRevisionName"})
	}
	return list, nil
}

// mark is a label or an annotation that a manager leaves.
type mark struct{ manager, kind, key string }

const (
	label      = "the label"
	annotation = "the annotation"
)

// What Rancher makes of its own objects is marked as that of Fleet is, and names its
// owner as well (wrangler, pkg/apply).
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

func (m mark) in(o head) bool {
	set := o.Annotations
	if m.kind == label {
		set = o.Labels
	}
	if _, made := set[objectSetOwner]; made && m.key == objectSet {
		return false
	}
	return set[m.key] != ""
}

// writers are the beginnings of the names under which programs write.
var writers = []struct{ prefix, manager string }{
	{"fleetagent", "Fleet"}, {"fleet-agent", "Fleet"},
	{"argocd", "Argo CD"},
	{"kustomize-controller", "Flux"}, {"helm-controller", "Flux"},
	{"terraform", "Terraform"}, {"hashicorp", "Terraform"}, {"opentofu", "Terraform"},
	{"pulumi", "Pulumi"},
	{"helm", "Helm"},
}

// writer returns the program that a field manager's name is of.
func writer(field string) (string, bool) {
	for _, w := range writers {
		if strings.HasPrefix(strings.ToLower(field), w.prefix) {
			return w.manager, true
		}
	}
	return "", false
}
