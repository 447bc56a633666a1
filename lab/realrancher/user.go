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
	"k8s.io/client-go/kubernetes"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/lab/cluster"
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

// account is the user of a token.
type account struct{ id, name, password string }

// logIn takes a token as people do who log in, and returns their ID, too. A login can leave no trace in the user's
// attributes, without which Rancher cannot make the user's requests to clusters; then it is done again.
//
// With every request Rancher refreshes attributes that are older than an hour, or new: it reads them, and on a conflict it
// writes what it had read over those that a login has written since (rancher pkg/controllers/management/auth,
// UserAttributeController.sync). After that it does not refresh them for an hour, so that the next login stays.
func (s *Server) logIn(ctx context.Context, name, password string) (id, token string, err error) {
	for range logins {
		login, err := s.ask(ctx, http.MethodPost, "/v3-public/localProviders/local?action=login", "", map[string]any{
			"username": name, "password": password, "responseType": "token",
		})
		if err != nil {
			return "", "", err
		}
		token, _ := login["token"].(string)
		if id, err := s.whose(ctx, token); err == nil && kept(s.attributes(ctx, id)) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.accounts[token] = account{id, name, password}
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
	answer, err := s.ask(ctx, http.MethodGet, "/v3/users?me=true", token, nil)
	if err != nil {
		return "", err
	}
	list, _ := answer["data"].([]any)
	if len(list) == 0 {
		return "", errors.New("realrancher: a token of no user")
	}
	me, _ := list[0].(map[string]any)
	id, _ := me["id"].(string)
	return id, nil
}

// attributes are what Rancher keeps of a user; none where it keeps nothing.
func (s *Server) attributes(ctx context.Context, id string) map[string]any {
	o, err := s.objects.Resource(userAttributes).Get(ctx, id, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return o.Object
}

// kept reports whether attributes have what a login leaves, and no refresh is in progress that can write older ones.
func kept(attributes map[string]any) bool {
	pending, _, _ := unstructured.NestedBool(attributes, "NeedsRefresh")
	extra, _, err := unstructured.NestedMap(attributes, "ExtraByProvider")
	return err == nil && len(extra) > 0 && !pending
}

// again logs the user of a token in again, whose attributes a refresh can have overwritten after the login, and returns what
// was kept of the user, for a message: by Rancher, and in the cluster, where the role has to allow what Rancher sends.
func (c *Cluster) again(ctx context.Context, token string) string {
	s := c.server
	s.mu.Lock()
	a := s.accounts[token]
	s.mu.Unlock()
	o := s.attributes(ctx, a.id)
	var rules any
	client, err := kubernetes.NewForConfig(c.Downstream.Config(cluster.Admin))
	if err == nil {
		role, missing := client.RbacV1().ClusterRoles().Get(ctx, "cattle-impersonation-"+a.id, metav1.GetOptions{})
		rules, err = role.Rules, missing
	}
	_, _, failed := s.logIn(ctx, a.name, a.password)
	return fmt.Sprintf("Rancher kept of %s: extra %v, refreshed %v, to be refreshed %v; the rules of its impersonator were %v (%v); another login: %v",
		a.name, o["ExtraByProvider"], o["LastRefresh"], o["NeedsRefresh"], rules, err, failed)
}
