// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rke-lm/rke-lm/internal/kube"
)

// AddUser makes a user who may log in and nothing else (the global role User-Base), and returns the user's ID, which
// Kubernetes knows, and a token.
func (s *Server) AddUser(ctx context.Context, name string) (id, token string, err error) {
	password := "lab password of " + name
	user, err := s.ask(ctx, http.MethodPost, "/v3/users", s.token, map[string]any{"username": name, "password": password, "enabled": true})
	if err != nil {
		return "", "", err
	}
	_, err = s.ask(ctx, http.MethodPost, "/v3/globalrolebindings", s.token, map[string]any{"userId": user["id"], "globalRoleId": "user-base"})
	if err != nil {
		return "", "", err
	}
	return s.logIn(ctx, name, password)
}

// logIn takes a token as people do who log in, and returns their ID, too. A login while Rancher still starts its controllers can
// leave no trace in the user's attributes, without which Rancher cannot make the user's requests to
// clusters; then it is done again.
func (s *Server) logIn(ctx context.Context, name, password string) (id, token string, err error) {
	for range logins {
		said, err := s.ask(ctx, http.MethodPost, "/v3-public/localProviders/local?action=login", "", map[string]any{
			"username": name, "password": password, "responseType": "token",
		})
		if err != nil {
			return "", "", err
		}
		token, _ := said["token"].(string)
		if id, err := s.whose(ctx, token); err == nil && s.isKnown(ctx, id) {
			return id, token, nil
		}
		if !kube.Pause(ctx, time.Second) {
			return "", "", ctx.Err()
		}
	}
	return "", "", fmt.Errorf("realrancher: %s gets no token, or no attributes", name)
}

// logins are how often it is tried.
const logins = 10

// whose returns the ID of the user of a token.
func (s *Server) whose(ctx context.Context, token string) (string, error) {
	said, err := s.ask(ctx, http.MethodGet, "/v3/users?me=true", token, nil)
	if err != nil {
		return "", err
	}
	list, _ := said["data"].([]any)
	if len(list) == 0 {
		return "", errors.New("realrancher: a token of no user")
	}
	me, _ := list[0].(map[string]any)
	id, _ := me["id"].(string)
	return id, nil
}

// isKnown reports whether Rancher has kept who a user is.
func (s *Server) isKnown(ctx context.Context, id string) bool {
	o, err := s.objects.Resource(userAttributes).Get(ctx, id, metav1.GetOptions{})
	if err != nil {
		return false
	}
	kept, _, err := unstructured.NestedMap(o.Object, "ExtraByProvider")
	return err == nil && len(kept) > 0
}
