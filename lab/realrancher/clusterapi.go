// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

import (
	"bytes"
	"context"
	"encoding/base64"
	"path/filepath"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/lab/admission"
	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/deploy"
)

// Where Cluster API's manager serves, as in its own manifests.
const capiNamespace, capiService = "capi-system", "capi-webhook-service"

// startClusterAPI starts Cluster API's own manager, which Rancher installs by a chart: it converts between the
// versions of its objects, admits them, and gives machines their owners and nodes.
func (s *Server) startClusterAPI(ctx context.Context) error {
	a, err := newAuthority("capi-ca")
	if err != nil {
		return err
	}
	certificates := filepath.Join(s.dir, "capi-certificates")
	if err := a.write(certificates, capiService+"."+capiNamespace+".svc"); err != nil {
		return err
	}
	if err := admission.Service(ctx, s.client, capiNamespace, capiService, 443); err != nil {
		return err
	}
	if err := s.define(ctx, a.pem); err != nil {
		return err
	}
	serving, marks, err := cluster.ReservePair()
	if err != nil {
		return err
	}
	health, more, err := cluster.ReservePair()
	if err != nil {
		return err
	}
	s.ports = append(s.ports, append(marks, more...)...)
	s.egress.Lead(capiNamespace+"/"+capiService, "127.0.0.1:"+strconv.Itoa(serving))
	kubeconfig, err := s.Local.Kubeconfig(cluster.Admin)
	if err != nil {
		return err
	}
	s.clusterAPI, err = s.run(ctx, build.ClusterAPI, nil, "--kubeconfig="+kubeconfig, "--webhook-port="+strconv.Itoa(serving),
		"--webhook-cert-dir="+certificates, "--health-addr=127.0.0.1:"+strconv.Itoa(health), "--diagnostics-address=127.0.0.1:"+strconv.Itoa(health+1),
		"--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields")
	if err != nil {
		return err
	}
	return await(ctx, "cluster-api", s.clusterAPI, func(ctx context.Context) error {
		return cluster.Answers(ctx, "http://127.0.0.1:"+strconv.Itoa(health)+"/readyz")
	})
}

// define writes the definitions of Cluster API's objects and its webhooks, with what its overlays for
// cert-manager and kustomize add.
func (s *Server) define(ctx context.Context, ca []byte) error {
	definitions, webhooks, err := build.ClusterAPIManifests(ctx)
	if err != nil {
		return err
	}
	applier, err := deploy.NewApplier(s.Local.Config(cluster.Admin))
	if err != nil {
		return err
	}
	reach := func(path string) map[string]any {
		return map[string]any{"caBundle": base64.StdEncoding.EncodeToString(ca), "service": map[string]any{"namespace": capiNamespace, "name": capiService, "path": path}}
	}
	for _, text := range definitions {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal(text, &o.Object); err != nil {
			return err
		}
		err := unstructured.SetNestedMap(o.Object, map[string]any{
			"strategy": "Webhook", "webhook": map[string]any{"conversionReviewVersions": []any{"v1", "v1beta1"}, "clientConfig": reach("/convert")},
		}, "spec", "conversion")
		if err != nil {
			return err
		}
		o.SetLabels(map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1", "cluster.x-k8s.io/v1beta2": "v1beta2"})
		if err := apply(ctx, applier, o.Object); err != nil {
			return err
		}
	}
	for _, text := range bytes.Split(webhooks, []byte("\n---\n")) {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal(text, &o.Object); err != nil {
			return err
		}
		list, _, err := unstructured.NestedSlice(o.Object, "webhooks")
		if err != nil {
			return err
		}
		for _, item := range list {
			w := item.(map[string]any)
			path, _, err := unstructured.NestedString(w, "clientConfig", "service", "path")
			if err != nil {
				return err
			}
			w["clientConfig"] = reach(path)
		}
		o.Object["webhooks"] = list
		o.SetName("capi-" + o.GetName())
		if err := apply(ctx, applier, o.Object); err != nil {
			return err
		}
	}
	return nil
}

func apply(ctx context.Context, applier *deploy.Applier, o map[string]any) error {
	text, err := yaml.Marshal(o)
	if err != nil {
		return err
	}
	return applier.Apply(ctx, text)
}
