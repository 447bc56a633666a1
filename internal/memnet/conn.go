// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
)

// conn is one end of a connection.
type conn struct {
	net.Conn
	reset *atomic.Bool // shared by both ends
}

func pipe() (client, server net.Conn) {
	a, b := net.Pipe()
	var reset atomic.Bool
	return &conn{a, &reset}, &conn{b, &reset}
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && c.reset.Load() {
		err = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return n, err
}

// Reset ends a connection as a router does that has forgotten it. The connection may
// be one of TLS.
func Reset(c net.Conn) {
	if t, is := c.(interface{ NetConn() net.Conn }); is {
		c = t.NetConn()
	}
	if m, is := c.(*conn); is {
		m.reset.Store(true)
	}
	c.Close()
}

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
