// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
)

// GetSecret reads one Secret by its name; nil where it is not there.
func GetSecret(ctx context.Context, c *Client, namespace, name string) (*corev1.Secret, error) {
	var secret corev1.Secret
	err := c.Get(ctx, Request{
		What: "get secrets in " + namespace, Method: http.MethodGet,
		Path: "/api/v1/namespaces/" + url.PathEscape(namespace) + "/secrets/" + url.PathEscape(name),
	}, "Secret", &secret)
	switch {
	case HasStatus(err, http.StatusNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &secret, nil
}
