// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// groups are those of every user whose token holds.
var groups = []string{"system:authenticated", "system:cattle:authenticated"}

// gate lets requests for management.cattle.io of Rancher's own cluster through for users
// who may get the cluster local (rancher v2.8.5 pkg/api/steve/proxy/proxy.go,
// matchManagementCRDs and authLocalCluster).
type gate struct {
	reviews authorization.SubjectAccessReviewInterface

	mu sync.Mutex
	// memory is for how long an answer is remembered; Rancher's settings are 10 seconds.
	memory   time.Duration
	answered map[string]remembered // by user
}

type remembered struct {
	allowed bool
	until   time.Time
}

// Remember sets for how long Rancher remembers whether a user may get the cluster
// local.
func (s *Server) Remember(d time.Duration) {
	s.proxy.gate.mu.Lock()
	defer s.proxy.gate.mu.Unlock()
	s.proxy.gate.memory, s.proxy.gate.answered = d, map[string]remembered{}
}

// lets asks Rancher's own API server. A user whom it cannot ask about is not let
// through.
func (g *gate) lets(ctx context.Context, user string, of []string) bool {
	g.mu.Lock()
	known, is := g.answered[user]
	memory := g.memory
	g.mu.Unlock()
	if is && time.Now().Before(known.until) {
		return known.allowed
	}
	review, err := g.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, Groups: of,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Group: managed.Group, Version: "v3", Resource: "clusters", Name: localName},
	}}, metav1.CreateOptions{})
	if err != nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answered[user] = remembered{review.Status.Allowed, time.Now().Add(memory)}
	return review.Status.Allowed
}
