// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"net"
	"net/http"
	"path/filepath"

	"github.com/rke-lm/rke-lm/lab/build"
)

// Repository is a chart repository on loopback with the charts that plans install, as they were published.
type Repository struct {
	URL    string
	server *http.Server
}

// StartRepository packs the charts and serves them. What it keeps is below dir.
func StartRepository(ctx context.Context, h *Helm, dir string) (*Repository, error) {
	charts, err := build.Charts(ctx)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Repository{URL: "http://" + l.Addr().String(), server: &http.Server{Handler: http.FileServer(http.Dir(dir))}}
	for _, chart := range charts {
		if err := h.Run(ctx, "package", filepath.Clean(chart), "--destination", dir); err != nil {
			l.Close()
			return nil, err
		}
	}
	if err := h.Run(ctx, "repo", "index", dir, "--url", r.URL); err != nil {
		l.Close()
		return nil, err
	}
	go r.server.Serve(l)
	return r, nil
}

// Stop ends the repository.
func (r *Repository) Stop() { r.server.Close() }
