// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

import (
	"context"
	"fmt"
	"net/http"
)

// AddUser makes a user who may log in and nothing else (the global role User-Base), and returns a token.
func (s *Server) AddUser(ctx context.Context, name string) (token string, err error) {
	password := "lab password of " + name
	user, err := s.ask(ctx, http.MethodPost, "/v3/users", s.token, map[string]any{"username": name, "password": password, "enabled": true})
	if err != nil {
		return "", err
	}
	_, err = s.ask(ctx, http.MethodPost, "/v3/globalrolebindings", s.token, map[string]any{"userId": user["id"], "globalRoleId": "user-base"})
	if err != nil {
		return "", err
	}
	return s.tokenOf(ctx, name, password)
}

// tokenOf takes a token as people do who log in.
func (s *Server) tokenOf(ctx context.Context, name, password string) (string, error) {
	said, err := s.ask(ctx, http.MethodPost, "/v3-public/localProviders/local?action=login", "", map[string]any{
		"username": name, "password": password, "responseType": "token",
	})
	if err != nil {
		return "", err
	}
	token, _ := said["token"].(string)
	if token == "" {
		return "", fmt.Errorf("realrancher: %s gets no token", name)
	}
	return token, nil
}
