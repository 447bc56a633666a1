// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"net/http"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

// Rights asks which of these rights the user has, and returns those that are
// missing, in their order: of [rollout.GatePermission] only where Rancher refuses requests for
// lack of it. If Rancher forwards no request of the user to a cluster, its rights are not
// asked for: [rollout.ClusterPermission] is missing. It changes nothing.
func (s *Server) Rights(ctx context.Context, needed []rollout.Access) ([]rollout.Access, error) {
	downstream := func(r rollout.Access) bool { return r.Cluster != "" }
	missing, err := s.missing(ctx, slices.DeleteFunc(slices.Clone(needed), downstream))
	if err != nil {
		return nil, err
	}
	open := lists.Where(needed, func(r rollout.Access) bool {
		return downstream(r) && !slices.Contains(missing, rollout.ClusterPermission(r.Cluster))
	})
	more, err := s.missing(ctx, open)
	return append(missing, more...), err
}

// missing returns those that the user lacks.
func (s *Server) missing(ctx context.Context, needed []rollout.Access) ([]rollout.Access, error) {
	allowed := make([]bool, len(needed))
	err := kube.ForEach(len(needed), func(i int) (err error) {
		allowed[i], err = s.may(ctx, needed[i])
		return err
	})
	if err != nil {
		return nil, s.explained(err)
	}
	var missing []rollout.Access
	for i, r := range needed {
		if !allowed[i] {
			missing = append(missing, r)
		}
	}
	if !slices.Contains(missing, rollout.GatePermission) {
		return missing, nil
	}
	gated, err := s.gated(ctx)
	if !gated {
		missing = slices.DeleteFunc(missing, func(r rollout.Access) bool { return r == rollout.GatePermission })
	}
	return missing, s.explained(err)
}

// Review fails with *kube.Denied where the user lacks a right.
func (s *Server) Review(ctx context.Context, needed []rollout.Access) error {
	missing, err := s.Rights(ctx, needed)
	if err != nil || len(missing) == 0 {
		return err
	}
	return s.explained(&kube.Denied{Missing: lists.Map(missing, rollout.Access.String)})
}

// may asks the authorizer of the right's cluster.
func (s *Server) may(ctx context.Context, r rollout.Access) (bool, error) {
	client := s.local
	if r.Cluster != "" {
		var err error
		if client, err = s.Downstream(r.Cluster); err != nil {
			return false, err
		}
	}
	resource, part, _ := strings.Cut(r.Resource, "/")
	review := authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: r.Namespace, Verb: r.Verb, Group: r.Group, Resource: resource, Subresource: part, Name: r.Name,
		}},
	}
	answer, err := kube.Get[authorizationv1.SelfSubjectAccessReview](ctx, client, kube.Request{
		What: "create selfsubjectaccessreviews.authorization.k8s.io", Method: http.MethodPost,
		Path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", Body: review,
	}, "SelfSubjectAccessReview")
	return err == nil && answer.Status.Allowed, err
}
