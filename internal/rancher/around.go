// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"net/http"
	"net/url"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/live/preconditions"
)

// Around reads what shows whether an object may be changed now; how far its last
// change has come is for Rollout.
func (s *Server) Around(ctx context.Context, o Object) (preconditions.Objects, error) {
	seen := preconditions.Objects{Title: o.Title(), Object: o.Raw}
	if !o.Kind.Planned {
		return seen, nil
	}
	var err error
	if seen.ControlPlane, err = s.controlPlane(ctx, o); err != nil {
		return seen, s.explained(err)
	}
	seen.Infrastructure, err = s.optional(ctx, kube.Request{
		What: "get clusters.cluster.x-k8s.io", Method: http.MethodGet,
		Path: "/apis/cluster.x-k8s.io/v1beta1/namespaces/" + url.PathEscape(o.Namespace) + "/clusters/" + url.PathEscape(o.Name),
	}, "Cluster")
	return seen, s.explained(err)
}
