// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

// webhook does what Rancher's webhook does of 2.7 and 2.8: it changes clusters as they are written, and leaves
// dry runs alone.
type webhook struct {
	server *http.Server

	mu      sync.Mutex
	objects *ranchertest.Webhook
	changed int // how many objects it wrote in another form
}

// startWebhook starts the webhook and registers it with Rancher's own API server.
func (s *Server) startWebhook(ctx context.Context) (*webhook, error) {
	certificate, pem, err := certificate()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &webhook{objects: ranchertest.NewWebhook(1)}
	w.server = &http.Server{Handler: w, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}, ErrorLog: quiet}
	go w.server.ServeTLS(l, "", "")
	url := "https://" + l.Addr().String() + "/v1/webhook/mutation"
	fail, effects := registrationv1.Fail, registrationv1.SideEffectClassNoneOnDryRun
	rule := func(group, version string) registrationv1.RuleWithOperations {
		return registrationv1.RuleWithOperations{
			Operations: []registrationv1.OperationType{registrationv1.Create, registrationv1.Update},
			Rule:       registrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{"clusters"}},
		}
	}
	_, err = s.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, &registrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "rancher.cattle.io"},
		Webhooks: []registrationv1.MutatingWebhook{{
			Name: "rancher.cattle.io.clusters", ClientConfig: registrationv1.WebhookClientConfig{URL: &url, CABundle: pem},
			Rules:         []registrationv1.RuleWithOperations{rule(managed.Group, managed.Version), rule(clusters.Group, clusters.Version)},
			FailurePolicy: &fail, SideEffects: &effects, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		w.stop()
		return nil, err
	}
	return w, nil
}

func (w *webhook) stop() { w.server.Close() }

// ServeHTTP admits every object. What it changes of one is a patch of its specification.
func (w *webhook) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(rw, "no AdmissionReview", http.StatusBadRequest)
		return
	}
	asked := review.Request
	review.Request, review.Response = nil, &admissionv1.AdmissionResponse{UID: asked.UID, Allowed: true}
	if asked.DryRun == nil || !*asked.DryRun {
		if patch := w.patch(asked.Object.Raw); patch != nil {
			kind := admissionv1.PatchTypeJSONPatch
			review.Response.Patch, review.Response.PatchType = patch, &kind
		}
	}
	rw.Header().Set("Content-Type", "application/json")
	json.NewEncoder(rw).Encode(review)
}

// patch is what makes of an object what Rancher's webhook lets through; nil where that is the same.
func (w *webhook) patch(raw []byte) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	var before, after struct {
		Spec json.RawMessage `json:"spec"`
	}
	if json.Unmarshal(raw, &before) != nil || json.Unmarshal(w.objects.Admit(raw), &after) != nil || ranchertest.Same(before.Spec, after.Spec) {
		return nil
	}
	w.changed++
	patch, _ := json.Marshal([]any{map[string]any{"op": "replace", "path": "/spec", "value": after.Spec}})
	return patch
}

// Reformed returns how many objects the webhook wrote in another form than it got.
func (s *Server) Reformed() int {
	s.webhook.mu.Lock()
	defer s.webhook.mu.Unlock()
	return s.webhook.changed
}
