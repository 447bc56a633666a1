// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// resources are where the kinds lie that actions name, in lower case as kubectl
// takes them.
var resources = map[string]string{
	"configmap":   "/api/v1/namespaces/%s/configmaps",
	"secret":      "/api/v1/namespaces/%s/secrets",
	"daemonset":   "/apis/apps/v1/namespaces/%s/daemonsets",
	"role":        "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/roles",
	"rolebinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings",
	"helmchart":   "/apis/helm.cattle.io/v1/namespaces/%s/helmcharts",
	"etcdbackup":  "/apis/management.cattle.io/v3/namespaces/%s/etcdbackups",
}

func pathOf(o Ref) (string, error) {
	form, known := resources[strings.ToLower(o.Kind)]
	if !known {
		return "", fmt.Errorf("%s: rke-lm does not know where objects of this kind lie; run the command of the stage by hand, and this one again with --by-hand", o)
	}
	return fmt.Sprintf(form, url.PathEscape(o.Namespace)) + "/" + url.PathEscape(o.Name), nil
}

// client is that of a server.
func (r *Run) client(server string) *kube.Client {
	if server == local {
		return r.Server.Local()
	}
	return r.observer.Client
}

// request makes a request about one object.
func (r *Run) request(ctx context.Context, o Ref, q kube.Request) (kube.Answer, error) {
	path, err := pathOf(o)
	if err != nil {
		return kube.Answer{}, err
	}
	q.Path, q.What = path, strings.ToLower(q.Method)+" "+strings.ToLower(o.Kind)+"s in "+o.Namespace
	if q.Accept == "" {
		q.Accept = "application/json"
	}
	var a kube.Answer
	err = r.pastGate(ctx, o, path, func() (err error) {
		a, err = r.client(o.Server).Do(ctx, q)
		return err
	})
	if kube.HasStatus(err, http.StatusNotFound) {
		return a, err
	}
	return a, kube.Refusal(err)
}

// pastGate finds the reason where Rancher refuses a request and gives none.
func (r *Run) pastGate(ctx context.Context, o Ref, path string, do func() error) error {
	if o.Server != local {
		return do()
	}
	return r.Server.PastGate(ctx, path, do)
}

// exists looks whether an object is there.
func (r *Run) exists(ctx context.Context, o Ref) (bool, error) {
	_, err := r.request(ctx, o, kube.Request{Method: http.MethodGet})
	if kube.HasStatus(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil, err
}

// applyText brings the objects of a manifest to a cluster, as kubectl apply does on
// the server's side.
func (r *Run) applyText(ctx context.Context, server, text string) error {
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
		if err := r.apply(ctx, o, d.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// apply brings one object to a cluster.
func (r *Run) apply(ctx context.Context, o Ref, body []byte) error {
	return r.write(ctx, write{act: actApply, object: o, digest: sum(body), do: func(ctx context.Context) error {
		_, err := r.request(ctx, o, kube.Request{
			Method: http.MethodPatch, Body: body, ContentType: "application/apply-patch+yaml",
			Query: url.Values{"fieldManager": {rancher.FieldManager}, "force": {"true"}},
		})
		return err
	}})
}

// applySecret brings a value to the cluster, as one key of a Secret.
func (r *Run) applySecret(ctx context.Context, o Ref, key string, value []byte) error {
	body, err := json.Marshal(corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
		Data: map[string][]byte{key: value},
	})
	if err != nil {
		return err
	}
	return r.apply(ctx, o, body)
}

// copySecret brings the Secret of a provider's configuration from Rancher's own
// cluster.
func (r *Run) copySecret(ctx context.Context, a transform.CopySecret) error {
	from := Ref{Server: local, Kind: "Secret", Namespace: a.Namespace, Name: a.Name}
	got, err := r.request(ctx, from, kube.Request{Method: http.MethodGet})
	if err != nil {
		return err
	}
	var s corev1.Secret
	if err := json.Unmarshal(got.Body, &s); err != nil {
		return &kube.Unreached{What: "read the " + from.String(), Err: fmt.Errorf("it is no Secret")}
	}
	value, there := s.Data[transform.SecretCredential]
	if !there {
		return fmt.Errorf("the %s has no key %s; correct the cloud-provider-config that refers to it", from, transform.SecretCredential)
	}
	return r.applySecret(ctx, Ref{Server: r.Object.ID, Kind: "Secret", Namespace: kubeSystem, Name: a.To}, a.Key, value)
}

// deleteAll deletes objects of some kinds, as far as they are there.
func (r *Run) deleteAll(ctx context.Context, namespace, kinds, name string) error {
	for kind := range strings.SplitSeq(kinds, ",") {
		o := Ref{Server: r.Object.ID, Kind: kind, Namespace: namespace, Name: name}
		there, err := r.exists(ctx, o)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		if err := r.drop(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes an object, as a write of the run.
func (r *Run) drop(ctx context.Context, o Ref) error {
	return r.write(ctx, write{act: actDelete, object: o, do: func(ctx context.Context) error { return r.remove(ctx, o) }})
}

// remove deletes an object; one that is gone was deleted by an earlier try.
func (r *Run) remove(ctx context.Context, o Ref) error {
	_, err := r.request(ctx, o, kube.Request{Method: http.MethodDelete})
	if kube.HasStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// gone waits until objects have left the cluster with their manifest.
func (r *Run) gone(ctx context.Context, a transform.Gone) error {
	return r.await(ctx, func(ctx context.Context) (state, error) {
		for kind := range strings.SplitSeq(a.Kinds, ",") {
			o := Ref{Server: r.Object.ID, Kind: kind, Namespace: a.Namespace, Name: a.Name}
			there, err := r.exists(ctx, o)
			if err != nil {
				return state{}, err
			}
			if there {
				return state{waiting: "the " + o.String() + " is still in the cluster; if it stays, delete it: " + transform.DeleteObject{Namespace: a.Namespace, Kind: kind, Name: a.Name}.Command()}, nil
			}
		}
		return state{done: true}, nil
	})
}
