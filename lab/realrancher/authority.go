// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// authority signs certificates for a day.
type authority struct {
	template *x509.Certificate
	key      crypto.Signer
	pem      []byte
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{key: key, template: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}}
	a.pem, err = a.sign(a.template, key.Public())
	return a, err
}

func (a *authority) sign(template *x509.Certificate, public any) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, a.template, public, a.key)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
}

// write writes a certificate for a name, its key and the authority's own certificate to a folder: tls.crt, tls.key
// and ca.crt.
func (a *authority) write(dir, name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	certificate, err := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: a.template.NotBefore, NotAfter: a.template.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, key.Public())
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for file, text := range map[string][]byte{"tls.crt": certificate, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), "ca.crt": a.pem} {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
