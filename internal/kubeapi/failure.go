// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/transform/redact"
)

// Failure is a refusal of the server.
type Failure struct {
	What    string // what was asked for: "list nodes"
	Status  int
	Message string
	after   time.Duration
	page    bool // it came as a page for people, so from a proxy
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s: the API server answers %d: %s", f.What, f.Status, f.Message)
}

// noSuchPath is what an API server answers for a group that it does not know.
const noSuchPath = "404 page not found\n"

func newFailure(what string, res *http.Response, a Answer) *Failure {
	f := &Failure{What: what, Status: res.StatusCode, Message: http.StatusText(res.StatusCode), after: retryAfter(res.Header)}
	f.page = len(a.Body) > 0 && !strings.Contains(a.ContentType, "json") && !isProtobuf(a) && string(a.Body) != noSuchPath
	if to, err := res.Location(); err == nil && res.StatusCode/100 == 3 {
		// The page of a login is no answer; its query may hold a token.
		f.Message = fmt.Sprintf("it sends on to %s://%s%s, which is not followed; check the address and the credentials", to.Scheme, to.Host, redact.Text(to.Path))
	}
	var s metav1.Status
	if o, err := contentOf(a, "Status"); err == nil && o.decode(&s, s.Unmarshal) == nil && s.Message != "" {
		f.Message = redact.Text(s.Message)
	}
	return f
}

// foreign reports whether the refusal says nothing about the cluster: the proxy
// before it does not know its way for now.
func (f *Failure) foreign() bool { return f.Status == http.StatusNotFound && f.page }

// unauthorized reports whether the authorizer refused, and not an admission webhook
// (k8s.io/apiserver/pkg/endpoints/handlers/responsewriters).
func (f *Failure) unauthorized() bool { return strings.Contains(f.Message, " cannot ") }

// HasStatus reports whether an error is a refusal with one of these codes, by the
// API server itself.
func HasStatus(err error, codes ...int) bool {
	var f *Failure
	return errors.As(err, &f) && slices.Contains(codes, f.Status) && !f.foreign()
}

// Denied lists what the user may not do.
type Denied struct {
	Missing []string // "list nodes"
	Expired bool     // the credentials were not accepted at all
}

func (d *Denied) Error() string {
	if d.Expired {
		return "the API server does not accept the credentials; log in again, they may have expired"
	}
	return "these rights are missing: " + strings.Join(d.Missing, ", ") + "; ask for them, docs/permissions.md has the roles"
}

// Unreached says that a cluster could not be looked at.
type Unreached struct {
	What string
	Err  error
}

func (u *Unreached) Error() string {
	if f := (*Failure)(nil); errors.As(u.Err, &f) {
		return fmt.Sprintf("%s; look at the API server, and run the command again", f)
	}
	advice := "check the network and the API server"
	switch {
	case untrusted(u.Err):
		advice = "check the address and the certificate authority of the cluster, and who else may answer there"
	case Unidentified(u.Err):
		advice = "log in again, or look at the program that the kubeconfig names for the user"
	}
	return fmt.Sprintf("%s: %s; %s, and run the command again", u.What, redact.Text(u.Err.Error()), advice)
}

func (u *Unreached) Unwrap() error { return u.Err }

// unreached tells refusals of the server, which stay as they are, from what kept
// it from answering.
func unreached(ctx context.Context, what string, err error) error {
	var f *Failure
	if errors.As(err, &f) && f.Status < 500 && f.Status != http.StatusTooManyRequests && !f.foreign() {
		return f
	}
	if ctx.Err() != nil && f == nil {
		err = ctx.Err()
	}
	return &Unreached{what, err}
}

// Unidentified reports whether the program that a kubeconfig names for credentials
// gave none (k8s.io/client-go/plugin/pkg/client/auth/exec).
func Unidentified(err error) bool {
	var u *url.Error
	return errors.As(err, &u) && strings.HasPrefix(u.Err.Error(), "getting credentials: ")
}

func untrusted(err error) bool {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &record)
}

// Refusal turns an error of one request into the *Denied that it stands for, if it
// does.
func Refusal(err error) error { return Joined([]error{err}) }

// Joined makes one error of several: all rights that are missing, or the first of
// the others.
func Joined(errs []error) error {
	denied := &Denied{}
	var first error
	for _, err := range errs {
		var f *Failure
		var d *Denied
		switch {
		case err == nil:
		case errors.As(err, &d) && d.Expired:
			return d
		case errors.As(err, &d):
			denied.Missing = append(denied.Missing, d.Missing...)
		case HasStatus(err, http.StatusUnauthorized):
			return &Denied{Expired: true}
		case HasStatus(err, http.StatusForbidden) && errors.As(err, &f):
			denied.Missing = append(denied.Missing, f.What)
		case first == nil:
			first = err
		}
	}
	if len(denied.Missing) > 0 {
		slices.Sort(denied.Missing)
		denied.Missing = slices.Compact(denied.Missing)
		return denied
	}
	return first
}
