// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/live/rights"
	"github.com/rke-lm/rke-lm/transform/shell"
)

// advised is an error with what to do about it on a Rancher.
type advised struct {
	text string
	err  error
}

func (a *advised) Error() string { return a.text }

func (a *advised) Unwrap() error { return a.err }

// explained says of a Rancher what an API server alone cannot.
func (s *Server) explained(err error) error {
	if errors.As(err, new(*advised)) {
		return err
	}
	err = kube.Refusal(err)
	var denied *kube.Denied
	var authority x509.UnknownAuthorityError
	switch {
	case errors.As(err, &denied) && denied.Expired:
		return &advised{fmt.Sprintf("%s does not accept the token: it has expired, or its scope is one cluster, which Rancher's own cluster does not accept; create an API key without a scope, and run the command again", s.local.Address()), err}
	case errors.As(err, &denied) && slices.Contains(denied.Missing, rights.Gate.String()):
		return &advised{fmt.Sprintf("%s; without %q Rancher itself rejects every request for management.cattle.io, regardless of other permissions", denied, rights.Gate), err}
	case errors.As(err, &authority):
		if at, is := s.local.Rancher(); is {
			return &advised{fmt.Sprintf("the certificate of %s is signed by an authority that this machine does not trust; get it with: %s, compare it with the one from the administrators of the Rancher, and add --cacert cacerts.pem", at, shell.Line("curl -sk %s | jq -r .value > cacerts.pem", at+"/v3/settings/cacerts")), err}
		}
	}
	return err
}
