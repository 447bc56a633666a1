// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/rke-lm/rke-lm/internal/kube"
)

// Version returns the version of Rancher, such as v2.8.5, which it gives to everybody
// (rancher pkg/version, since before 2.7); "" where it cannot be read, as from the API
// server of its own cluster.
func (s *Server) Version(ctx context.Context) string {
	itself, through := s.local.Itself()
	if !through {
		return ""
	}
	var info struct{ Version string }
	read := func(a kube.Answer) error { return json.Unmarshal(a.Body, &info) }
	if err := itself.Read(ctx, kube.Request{What: "read the version of Rancher", Method: http.MethodGet, Path: "/rancherversion", Accept: "application/json", Optional: true}, read); err != nil {
		return ""
	}
	return info.Version
}
