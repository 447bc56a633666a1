// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Serve serves over TLS until the test ends. Clients need [Dial].
func Serve(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	l := Listen()
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}} // clients go away in tests
	s.StartTLS()
	t.Cleanup(func() {
		l.Close()
		l.Drop()
		s.Close()
	})
	return s
}
