// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// names are the certificates of a server: its own, and one for another name, both
// of an authority that clients trust.
type names struct {
	root       []byte
	own, other tls.Certificate
	renamed    atomic.Bool
}

// StartTLS starts a server with a certificate.
func StartTLS(t testing.TB) *Server {
	t.Helper()
	s := newServer()
	host, _, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s.names = newNames(t, net.ParseIP(host))
	s.serve()
	t.Cleanup(s.Down)
	return s
}

// Rename gives a server of StartTLS the certificate of another name, or its own
// again. Connections that were made before end.
func (s *Server) Rename(other bool) {
	s.names.renamed.Store(other)
	s.listener.Drop()
}

func newNames(t testing.TB, host net.IP) *names {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	sign := func(c *x509.Certificate) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, root, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	leaf := func(number int64, name string, addresses ...net.IP) tls.Certificate {
		c := &x509.Certificate{SerialNumber: big.NewInt(number), DNSNames: []string{name}, IPAddresses: addresses, NotBefore: root.NotBefore, NotAfter: root.NotAfter, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
		return tls.Certificate{Certificate: [][]byte{sign(c)}, PrivateKey: key}
	}
	return &names{root: sign(root), own: leaf(2, "orchard.example.org", host), other: leaf(3, "meadow.example.org")}
}

// config chooses for each connection. Clients name no server where it is an
// address, so that GetCertificate would not be asked.
func (n *names) config() *tls.Config {
	return &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if n.renamed.Load() {
			return &tls.Config{Certificates: []tls.Certificate{n.other}}, nil
		}
		return &tls.Config{Certificates: []tls.Certificate{n.own}}, nil
	}}
}

// authority is the certificate that a kubeconfig holds, if there is one.
func (n *names) authority() string {
	if n == nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: n.root}))
}
