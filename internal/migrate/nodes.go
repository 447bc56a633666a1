// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// nodeNames lists the Nodes that a selector matches and that keep keeps.
func (c *cluster) nodeNames(ctx context.Context, selector string, keep func(*corev1.Node) bool) ([]string, error) {
	q := kube.Resource{Version: "v1", Name: "nodes", Kind: "NodeList", Options: metav1.ListOptions{LabelSelector: selector}}
	names, err := kube.Collect(ctx, c.observer.Client, q, func(n *corev1.Node, kept []string) []string {
		if keep(n) {
			kept = append(kept, n.Name)
		}
		return kept
	})
	return names, kube.Refusal(err)
}

// node reads a Node; nil where it is gone.
func (c *cluster) node(ctx context.Context, name string) (*yamledit.Document, error) {
	a, err := c.request(ctx, c.own("Node", "", name), kube.Request{Method: http.MethodGet})
	raw, err := kube.Found(a.Body, err)
	if raw == nil {
		return nil, err
	}
	var lines bytes.Buffer
	if err := json.Indent(&lines, raw, "", "  "); err != nil {
		return nil, &kube.Unreached{What: "get nodes", Err: err}
	}
	return yamledit.Parse(yamledit.Chunk{File: "node " + name, Bytes: lines.Bytes()})
}

// patchNode sends a patch. Where it fails because an earlier try has done it, the
// Node shows that; one that is gone needs it no more.
func (c *cluster) patchNode(ctx context.Context, name string, p jsonpatch.Patch) error {
	_, err := c.request(ctx, c.own("Node", "", name), kube.Request{
		Method: http.MethodPatch, Query: url.Values{"fieldManager": {kube.Program}}, Body: p.Bytes(), ContentType: jsonpatch.ContentType,
	})
	switch {
	case kube.HasStatus(err, http.StatusNotFound):
		return nil
	case !kube.HasStatus(err, http.StatusUnprocessableEntity, http.StatusConflict):
		return err
	}
	now, lost := c.node(ctx, name)
	if lost == nil && now != nil && p.Applied(now.Bytes(), nil) {
		return nil
	}
	return err
}
