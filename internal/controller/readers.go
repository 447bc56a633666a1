// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"strings"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Readers lets only users read Next who have permission to get its path, by the API server's own reviews of their
// token and of their permissions.
type Readers struct {
	Client kubernetes.Interface
	Next   http.Handler
}

func (s *Readers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	code := http.StatusUnauthorized
	if is {
		code = s.review(r, token)
	}
	if code == http.StatusOK {
		s.Next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	http.Error(w, http.StatusText(code), code)
}

// review is the status of an answer to the user with a token.
func (s *Readers) review(r *http.Request, token string) int {
	who, err := s.Client.AuthenticationV1().TokenReviews().Create(r.Context(), &authentication.TokenReview{Spec: authentication.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return http.StatusServiceUnavailable
	case !who.Status.Authenticated:
		return http.StatusUnauthorized
	}
	u, extra := who.Status.User, map[string]authorization.ExtraValue{}
	for key, values := range u.Extra {
		extra[key] = authorization.ExtraValue(values)
	}
	access, err := s.Client.AuthorizationV1().SubjectAccessReviews().Create(r.Context(), &authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{
		User: u.Username, UID: u.UID, Groups: u.Groups, Extra: extra, NonResourceAttributes: &authorization.NonResourceAttributes{Path: r.URL.Path, Verb: "get"},
	}}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return http.StatusServiceUnavailable
	case !access.Status.Allowed:
		return http.StatusForbidden
	}
	return http.StatusOK
}
