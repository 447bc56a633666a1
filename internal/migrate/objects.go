// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// applyText brings the objects of a manifest to a cluster, as kubectl apply does on
// the server's side.
func (w *writer) applyText(ctx context.Context, server, text string) error {
	for _, chunk := range yamledit.Split("manifest", []byte(text)) {
		d, err := yamledit.Parse(chunk)
		if err != nil {
			return err
		}
		if !d.Root().IsMap() {
			continue
		}
		o := Ref{Server: server}
		o.Kind, _ = d.Root().Get("kind").String()
		o.Namespace, _ = d.Root().Get("metadata", "namespace").String()
		o.Name, _ = d.Root().Get("metadata", "name").String()
		if err := w.apply(ctx, o, d.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// apply brings one object to a cluster.
func (w *writer) apply(ctx context.Context, o Ref, body []byte) error {
	return w.write(ctx, write{act: actApply, object: o, digest: sum(body), do: func(ctx context.Context) error {
		_, err := w.cluster.request(ctx, o, kube.Request{
			Method: http.MethodPatch, Body: body, ContentType: "application/apply-patch+yaml",
			Query: url.Values{"fieldManager": {kube.Program}, "force": {"true"}},
		})
		return err
	}})
}

// applyObject is the same with an object that is sent as JSON.
func (w *writer) applyObject(ctx context.Context, o Ref, object any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return w.apply(ctx, o, body)
}

// applySecret brings a value to the cluster, as one key of a Secret.
func (w *writer) applySecret(ctx context.Context, namespace, name, key string, value []byte) error {
	return w.applyObject(ctx, w.cluster.own("Secret", namespace, name), corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data: map[string][]byte{key: value},
	})
}

// copySecret brings the Secret of a provider's configuration from Rancher's own
// cluster.
func (w *writer) copySecret(ctx context.Context, a action.CopySecret) error {
	from := Ref{Server: local, Kind: "Secret", Namespace: a.Namespace, Name: a.Name}
	got, err := w.cluster.request(ctx, from, kube.Request{Method: http.MethodGet})
	if err != nil {
		return err
	}
	var s corev1.Secret
	if err := json.Unmarshal(got.Body, &s); err != nil {
		return &kube.Unreached{What: "read the " + from.String(), Err: fmt.Errorf("it is no Secret")}
	}
	value, there := s.Data[action.SecretCredential]
	if !there {
		return fmt.Errorf("the %s has no key %s; correct the cloud-provider-config that refers to it", from, action.SecretCredential)
	}
	return w.applySecret(ctx, kubeSystem, a.To, a.Key, value)
}

// deleteKinds deletes objects of some kinds, as far as they are there.
func (w *writer) deleteKinds(ctx context.Context, namespace, kinds, name string) error {
	list, err := w.cluster.existing(ctx, namespace, kinds, name)
	for _, o := range list {
		if err = w.drop(ctx, o); err != nil {
			break
		}
	}
	return err
}

// drop deletes an object, as a write of the run.
func (w *writer) drop(ctx context.Context, o Ref) error {
	return w.write(ctx, write{act: actDelete, object: o, do: func(ctx context.Context) error { return w.cluster.remove(ctx, o) }})
}
