// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/rke-lm/rke-lm/lab/deploy"
)

// quiet keeps broken connections, which scenarios cause on purpose, out of the tests' output.
var quiet = log.New(io.Discard, "", 0)

// URL returns where Rancher is.
func (s *Server) URL() string { return s.proxy.url }

// CA returns the file with the certificate that signed Rancher's own.
func (s *Server) CA() string { return s.proxy.ca }

// Charts returns where the repository with the published chart is.
func (s *Server) Charts() string { return s.charts.URL }

// Helm returns the helm that installs charts, and the folders that it uses.
func (s *Server) Helm() *deploy.Helm { return s.helm }

// Token gives out a token of the user who may do everything.
func (s *Server) Token() string { return s.TokenOf(User) }

// TokenOf gives out a token of a user, who may do what roles of the clusters say.
func (s *Server) TokenOf(user string) string {
	bytes := make([]byte, 16)
	_, _ = rand.Read(bytes) // it never fails
	token := "token-" + hex.EncodeToString(bytes[:3])[:5] + ":" + hex.EncodeToString(bytes)
	s.proxy.mu.Lock()
	defer s.proxy.mu.Unlock()
	s.proxy.tokens[token] = user
	return token
}

// Revoke takes a token back.
func (s *Server) Revoke(token string) {
	s.proxy.mu.Lock()
	defer s.proxy.mu.Unlock()
	delete(s.proxy.tokens, token)
}

// Cut breaks the connection of every request that comes from now on; Restore ends that.
func (s *Server) Cut() { s.proxy.setCut(true) }

// Restore lets connections through again.
func (s *Server) Restore() { s.proxy.setCut(false) }

func (p *proxy) setCut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
}

func (p *proxy) isCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

// Before lets something happen once, before the next request that matches is passed on.
func (s *Server) Before(matches func(Request) bool, do func()) {
	s.proxy.mu.Lock()
	defer s.proxy.mu.Unlock()
	s.proxy.before = append(s.proxy.before, hook{matches, do})
}

// Borrow lets Rancher's own API server answer for a cluster of which no one needs more.
func (s *Server) Borrow(ctx context.Context, id, name string) error {
	if err := s.manage(ctx, id, name); err != nil {
		return err
	}
	return s.proxy.lead(id, s.Local)
}

// Answer lets a handler answer for a cluster that Rancher provisions. The handler gets the whole path of a request.
func (s *Server) Answer(ctx context.Context, id, name string, h http.Handler) error {
	if err := s.manage(ctx, id, name); err != nil {
		return err
	}
	s.proxy.mu.Lock()
	defer s.proxy.mu.Unlock()
	s.proxy.backends[id] = h
	return nil
}

// Requests returns what was passed on so far, in its order.
func (s *Server) Requests() []Request {
	s.proxy.mu.Lock()
	defer s.proxy.mu.Unlock()
	return slices.Clone(s.proxy.log)
}

// certificate makes a certificate for loopback that signs itself.
func certificate() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "dynamiclistener-ca"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
