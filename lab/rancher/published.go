// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"

	"github.com/rancher/wrangler/v3/pkg/crd"
	extensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rke-lm/rke-lm/lab/admission"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/deploy"
)

// published is Rancher's own webhook with what leads the API server to it.
type published struct {
	egress  *admission.Egress
	webhook *admission.Webhook
}

// flags are those of the API server whose objects it admits.
func (p *published) flags(dir string) (flags []string, err error) {
	if p.egress, err = admission.StartEgress(); err != nil {
		return nil, err
	}
	flag, err := p.egress.Flag(dir)
	return []string{flag}, err
}

func (p *published) stop() {
	if p.webhook != nil {
		p.webhook.Stop()
	}
	if p.egress != nil {
		p.egress.Stop()
	}
}

// AddWebhook adds Rancher's own webhook, as published: from then on it admits what is written.
func (s *Server) AddWebhook(ctx context.Context) (*admission.Webhook, error) {
	s.published.egress.Use(s.client)
	if err := deploy.Define(ctx, s.Local.Config(cluster.Admin), read()...); err != nil {
		return nil, err
	}
	w, err := admission.StartWebhook(ctx, s.Local, s.published.egress, s.dir)
	s.published.webhook = w
	return w, err
}

// templates are the only objects of those that the webhook reads which clusters here refer to.
var templates = schema.GroupVersionResource{Group: managed.Group, Version: managed.Version, Resource: "podsecurityadmissionconfigurationtemplates"}

// read are the definitions of all objects that the webhook reads and that this Rancher has no use for. It waits for
// them when it starts.
func read() []crd.CRD {
	list := []crd.CRD{{GVK: schema.GroupVersionKind{Group: controlPlanes.Group, Version: controlPlanes.Version, Kind: "ETCDSnapshot"}}}
	for kind, namespaced := range map[string]bool{
		"AuthConfig": false, "ClusterProxyConfig": true, "ClusterRoleTemplateBinding": true, "Feature": false, "GlobalRole": false, "GlobalRoleBinding": false,
		"PodSecurityAdmissionConfigurationTemplate": false, "Project": true, "ProjectRoleTemplateBinding": true, "RoleTemplate": false,
		"Setting": false, "User": false, "UserAttribute": false,
	} {
		list = append(list, crd.CRD{
			GVK: schema.GroupVersionKind{Group: managed.Group, Version: managed.Version, Kind: kind}, NonNamespace: !namespaced,
			Schema: &extensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
		})
	}
	return list
}

// AddTemplate writes a template for pod security admission that clusters of the lab name, as every Rancher has it.
func (s *Server) AddTemplate(ctx context.Context) error {
	defaults := map[string]any{}
	for _, mode := range []string{"enforce", "audit", "warn"} {
		defaults[mode], defaults[mode+"-version"] = "restricted", "latest"
	}
	return s.create(ctx, templates, "", map[string]any{
		"apiVersion": "management.cattle.io/v3", "kind": "PodSecurityAdmissionConfigurationTemplate", "metadata": map[string]any{"name": "rancher-restricted"},
		"configuration": map[string]any{"defaults": defaults, "exemptions": map[string]any{"namespaces": []any{"kube-system"}}},
	})
}
