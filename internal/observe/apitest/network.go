// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/memnet"
)

// Up lets the server listen, at the address that it had before.
func (s *Server) Up(t testing.TB) {
	t.Helper()
	s.listener = s.listener.Again()
	s.serve()
}

// serve answers at the listener.
func (s *Server) serve() {
	s.http = &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)} // clients that fail are what tests are about
	var l net.Listener = s.listener
	if s.names != nil {
		l = tls.NewListener(l, s.names.config())
	}
	go s.http.Serve(l)
}

// Down ends all connections, and refuses new ones.
func (s *Server) Down() {
	s.listener.Close()
	s.listener.Drop()
	s.http.Close()
}

// wait waits for as long as someone is at the other end.
func wait(r *http.Request, d time.Duration) {
	if d == 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

// reset ends a connection as a router does that has forgotten it.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // ends it as well
	}
	memnet.Reset(c)
}
