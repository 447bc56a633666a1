// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
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
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}, TLS: certified()} // clients go away in tests
	s.StartTLS()
	t.Cleanup(func() {
		l.Close()
		l.Drop()
		s.Close()
	})
	return s
}

// certified has a certificate that signs itself, for loopback addresses, as that of httptest does; handshakes with the RSA key of
// that one are a tenth of the time of tests.
var certified = sync.OnceValue(func() *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	own := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{Organization: []string{"memnet"}}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, DNSNames: []string{"example.com"},
	}
	der, err := x509.CreateCertificate(rand.Reader, own, own, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, CurvePreferences: []tls.CurveID{tls.X25519}}
})
