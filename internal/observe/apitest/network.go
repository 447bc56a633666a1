// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// ownHost is an address of loopback that clients do not speak from: none of their connections can take the
// port of a server that is down. Where a system has one address only, it is that.
func ownHost() string {
	host := net.IPv4(127, byte(1+rand.IntN(254)), byte(rand.IntN(256)), byte(1+rand.IntN(254))).String()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "127.0.0.1"
	}
	l.Close()
	return host
}

// Up lets the server listen, at the address that it had before.
func (s *Server) Up(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(s.host, s.port))
	if err != nil {
		t.Error(err)
		return
	}
	_, s.port, _ = net.SplitHostPort(l.Addr().String())
	s.http = httptest.NewUnstartedServer(s)
	s.http.Listener.Close()
	s.http.Listener = l
	s.http.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that fail are what tests are about
	if s.names == nil {
		s.http.Start()
		return
	}
	s.http.TLS = s.names.config()
	s.http.StartTLS()
}

// Down ends all connections, and refuses new ones.
func (s *Server) Down() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// wait waits for as long as somebody is at the other end.
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
	if t, is := c.(*net.TCPConn); is {
		t.SetLinger(0)
	}
	c.Close()
}
