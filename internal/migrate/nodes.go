// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/live/route"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const nodesPath = "/api/v1/nodes"

// nodeNames lists the Nodes that a selector matches and that keep keeps.
func (r *Run) nodeNames(ctx context.Context, selector string, keep func(*corev1.Node) bool) ([]string, error) {
	q := kube.Resource{What: "list nodes", Path: nodesPath, Kind: "NodeList", Options: metav1.ListOptions{LabelSelector: selector}}
	names, err := kube.Collect(ctx, r.observer.Client, q, func(l *corev1.NodeList, kept []string) []string {
		for i := range l.Items {
			if keep(&l.Items[i]) {
				kept = append(kept, l.Items[i].Name)
			}
		}
		return kept
	})
	return names, kube.Refusal(err)
}

// cordonAll cordons the Nodes that are not cordoned yet, and marks them.
func (r *Run) cordonAll(ctx context.Context, a transform.Cordon) error {
	names, err := r.nodeNames(ctx, a.Selector, func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
	if err != nil {
		return err
	}
	for _, name := range names {
		r.cordoned = true
		err := r.changeNode(ctx, actCordon, name, func(n *yamledit.Document) (*yamledit.Document, error) { return route.Cordon(n, a.Run) })
		if err != nil {
			return err
		}
	}
	return nil
}

// releaseAll releases the Nodes that a run over this cluster cordoned, and no
// other ones. One that cannot be released keeps none of the others.
func (r *Run) releaseAll(ctx context.Context) error {
	names, err := r.nodeNames(ctx, "", func(n *corev1.Node) bool { return n.Annotations[transform.CordonAnnotation] == r.mark })
	if err != nil {
		return err
	}
	for _, name := range names {
		err = errors.Join(err, r.changeNode(ctx, actRelease, name, func(n *yamledit.Document) (*yamledit.Document, error) { return route.Release(n, r.mark) }))
		if ctx.Err() != nil {
			break
		}
	}
	r.cordoned = r.cordoned && err != nil
	return err
}

// node reads a Node; nil where it is gone.
func (r *Run) node(ctx context.Context, name string) (*yamledit.Document, error) {
	a, err := r.observer.Do(ctx, kube.Request{What: "get nodes", Method: http.MethodGet, Path: nodesPath + "/" + url.PathEscape(name), Accept: "application/json"})
	if kube.HasStatus(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, kube.Refusal(err)
	}
	var lines bytes.Buffer
	if err := json.Indent(&lines, a.Body, "", "  "); err != nil {
		return nil, &kube.Unreached{What: "get nodes", Err: err}
	}
	return yamledit.Parse(yamledit.Chunk{File: "node " + name, Bytes: lines.Bytes()})
}

// errMoved says that an object changed since it was read.
var errMoved = errors.New("the node changes all the time; run the command again")

// nodeTries is how often a Node is read anew that somebody else writes as well.
const nodeTries = 10

// changeNode changes a Node by a patch that fits only the version that was read.
func (r *Run) changeNode(ctx context.Context, act, name string, change func(*yamledit.Document) (*yamledit.Document, error)) error {
	for range nodeTries {
		before, err := r.node(ctx, name)
		if err != nil || before == nil {
			return err
		}
		after, err := change(before)
		if err != nil {
			return err
		}
		p, err := jsonpatch.Diff(before.Bytes(), after.Bytes())
		if err != nil || len(p) == 0 {
			return err
		}
		err = r.write(ctx, write{act: act, object: Ref{Server: r.Object.ID, Kind: "Node", Name: name}, digest: p.Digest(), do: func(ctx context.Context) error {
			return r.patchNode(ctx, name, p)
		}})
		if !kube.HasStatus(err, http.StatusUnprocessableEntity, http.StatusConflict) {
			return err
		}
	}
	return errMoved
}

// patchNode sends a patch. Where it fails because an earlier try has done it, the
// Node shows that; one that is gone needs it no more.
func (r *Run) patchNode(ctx context.Context, name string, p jsonpatch.Patch) error {
	_, err := r.observer.Do(ctx, kube.Request{
		What: "patch nodes", Method: http.MethodPatch, Path: nodesPath + "/" + url.PathEscape(name), Query: url.Values{"fieldManager": {rancher.FieldManager}},
		Body: p.Bytes(), ContentType: jsonpatch.ContentType, Accept: "application/json",
	})
	switch {
	case kube.HasStatus(err, http.StatusNotFound):
		return nil
	case !kube.HasStatus(err, http.StatusUnprocessableEntity, http.StatusConflict):
		return kube.Refusal(err)
	}
	now, lost := r.node(ctx, name)
	if lost == nil && now != nil && p.Holds(now.Bytes(), nil) {
		return nil
	}
	return err
}

// noteForeign remembers which Nodes somebody else has cordoned.
func (r *Run) noteForeign(seen *observed) {
	r.foreign = map[string]bool{}
	for _, n := range seen.Nodes {
		if n.Unschedulable && n.Cordoned != r.mark {
			r.foreign[n.Name] = true
		}
	}
}

// noteReleased says which of them are cordoned no more: RKE releases every Node at
// the end of its run.
func (r *Run) noteReleased(seen *observed) {
	for _, n := range seen.Nodes {
		if r.foreign[n.Name] && !n.Unschedulable {
			delete(r.foreign, n.Name)
			r.note("the node " + n.Name + " was cordoned before the run, and was released by somebody else since, as RKE does: cordon it again if it shall stay so")
		}
	}
}
