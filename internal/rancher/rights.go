// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
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

const (
	// management is the API group that Rancher guards.
	management = "/apis/management.cattle.io/"
	// gateTime is longer than Rancher remembers a refusal: its setting
	// authorization-deny-cache-ttl-seconds is 10.
	gateTime  = 15 * time.Second
	gatePause = time.Second
)

var errNoReason = fmt.Errorf("403 without a reason from Rancher, although its API server reports that the user has permission to %s; check the log of Rancher", rollout.GatePermission)

// PastGate makes a request to Rancher's own cluster, and finds the reason where Rancher
// itself refuses it and gives none: the token is not accepted any more, or the user
// lacks [rollout.GatePermission]. It fails with *kube.Failure and *kube.Denied then.
//
// Rancher refuses management.cattle.io so, and nothing else (rancher
// pkg/api/steve/proxy/proxy.go, authLocalCluster: 2.6.10 and later, but not 2.7.0). It
// also does so while it cannot ask its API server, and for as long as it remembers an
// earlier refusal, so a user who has the right is let through a little later.
func PastGate[T any](ctx context.Context, s *Server, path string, do func() (T, error)) (T, error) {
	end := time.Now().Add(gateTime)
	for {
		answer, err := do()
		if !kube.Gated(err) || !strings.HasPrefix(path, management) {
			return answer, err
		}
		switch may, asked := s.may(ctx, rollout.GatePermission); {
		case asked != nil:
			return answer, asked
		case !may:
			return answer, &kube.Denied{Missing: []string{rollout.GatePermission.String()}}
		case time.Now().After(end) || !kube.Pause(ctx, gatePause):
			return answer, &kube.Unreached{What: "reach management.cattle.io", Err: errNoReason}
		}
	}
}

// gated reports whether Rancher lets the user reach management.cattle.io not at all.
// A Rancher of an older version, and an API server that is not reached through one, ask
// for no such right.
func (s *Server) gated(ctx context.Context) (bool, error) {
	_, err := s.local.Do(ctx, kube.Request{What: rollout.GatePermission.String(), Method: http.MethodGet, Path: listOf(transform.Management) + "/" + rollout.GatePermission.Name})
	if err == nil || kube.HasStatus(err, http.StatusForbidden, http.StatusNotFound) {
		return kube.Gated(err), nil
	}
	return false, err
}

// advised is an error with what to do about it on a Rancher.
type advised struct {
	text string
	err  error
}

func (a *advised) Error() string { return a.text }

func (a *advised) Unwrap() error { return a.err }

// explained says of a Rancher what an API server alone cannot.
func (s *Server) explained(err error) error {
	if errors.As(err, new(*advised)) {
		return err
	}
	err = kube.Refusal(err)
	var denied *kube.Denied
	var authority x509.UnknownAuthorityError
	switch {
	case errors.As(err, &denied) && denied.Expired:
		return &advised{fmt.Sprintf("%s does not accept the token: it has expired, or its scope is one cluster, which Rancher's own cluster does not accept; create an API key without a scope, and run the command again", s.local.Address()), err}
	case errors.As(err, &denied) && slices.Contains(denied.Missing, rollout.GatePermission.String()):
		return &advised{fmt.Sprintf("%s; without %q Rancher itself rejects every request for management.cattle.io, regardless of other permissions", denied, rollout.GatePermission), err}
	case errors.As(err, &authority):
		if at, is := s.local.Rancher(); is {
			return &advised{fmt.Sprintf("the certificate of %s is signed by an authority that this machine does not trust; get it with: %s, compare it with the one from the administrators of the Rancher, and add --cacert cacerts.pem", at, action.Command("curl -sk %s | jq -r .value > cacerts.pem", at+"/v3/settings/cacerts")), err}
		}
	}
	return err
}
