// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// Failure is a refusal of the server.
type Failure struct {
	What     string // what was requested: "list nodes"
	server   string
	Code     int // of HTTP
	Message  string
	reason   metav1.StatusReason
	warnings []string // warnings that came with it
	after    time.Duration
	by       denial
	entry    string // the ID of the cluster to which a Rancher does not let the user
	page     bool   // no API server wrote it, so a proxy did
	html     bool   // for people to read
	// outdated means that there is another token by now.
	outdated bool
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s: the API server answers %d: %s", f.What, f.Code, f.Message)
}

// Status implements apierrors.APIStatus, which client-go's pager asks for a list that
// expired.
func (f *Failure) Status() metav1.Status {
	s := metav1.Status{Status: metav1.StatusFailure, Code: int32(f.Code), Message: f.Message}
	if HasStatus(f, http.StatusGone) {
		s.Reason = metav1.StatusReasonExpired
	}
	return s
}

// ExitCode is that of a refusal only where the server took nothing by its rules.
func (f *Failure) ExitCode() transform.ExitCode {
	if f.NotTaken() {
		return transform.ExitRefused
	}
	return transform.ExitFailed
}

// noSuchPath is what an API server answers for a group that it does not know.
const noSuchPath = "404 page not found\n"

func newFailure(res *http.Response, a Answer) *Failure {
	seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // 0 where there is none
	f := &Failure{Code: res.StatusCode, Message: http.StatusText(res.StatusCode), warnings: a.Warnings, after: time.Duration(max(seconds, 0)) * time.Second}
	if to, err := res.Location(); err == nil && res.StatusCode/100 == 3 {
		// The page of a login is no answer; its query may hold a token.
		f.Message = fmt.Sprintf("it sends on to %s://%s%s, which is not followed; check the address and the credentials", to.Scheme, to.Host, redact.Text(to.Path))
	}
	f.read(a)
	return f
}

// read takes from an answer who refused, and what they say about it.
func (f *Failure) read(a Answer) {
	if f.Code == http.StatusForbidden && len(a.Body) == 0 {
		f.by = byGate // an API server always gives a reason
		return
	}
	s, err := contentOf[*metav1.Status](a, "Status", nil)
	if err == nil {
		f.by, f.reason = deniedBy(s.Message), s.Reason
	} else {
		f.page, f.html = len(a.Body) > 0 && string(a.Body) != noSuchPath, bytes.HasPrefix(bytes.TrimSpace(a.Body), []byte("<"))
		// A Rancher before a server answers so, for one of a cluster whose agent is not connected (github.com/rancher/norman/httperror).
		var status struct{ Message string }
		_ = json.Unmarshal(a.Body, &status)
		s = &metav1.Status{Message: status.Message}
		f.by, f.entry = routed(f.Code, s.Message)
	}
	f.Message = redact.Text(cmp.Or(s.Message, f.Message))
	if f.foreign() && f.html {
		f.Message += ", on an HTML page, so it comes from a proxy before the API server, which may want a login of its own"
	}
}

// Warnings are those that came with a refusal; they often say more than it does.
func Warnings(err error) []string {
	if f, is := errors.AsType[*Failure](err); is {
		return f.warnings
	}
	return nil
}

// foreign reports whether the refusal says nothing about the cluster and the user's
// rights: the proxy before it has no route for now, or lets no one through.
func (f *Failure) foreign() bool {
	return f.page && f.Code == http.StatusNotFound || f.html && (f.Code == http.StatusUnauthorized || f.Code == http.StatusForbidden)
}

// NotTaken reports whether a webhook, a policy or a plugin of the server does not take
// what was to be written. That is no missing right, and nothing was written.
func (f *Failure) NotTaken() bool { return f.by == byAdmission }

// HasStatus reports whether an error is a refusal with one of these codes, by the
// API server itself.
func HasStatus(err error, codes ...int) bool {
	var f *Failure
	return errors.As(err, &f) && slices.Contains(codes, f.Code) && !f.foreign() && !f.NotTaken()
}

// Exists reports whether an object was not created because there is one of its name. Only the
// reason shows that: a quota that others change at the same time refuses with the same code.
func Exists(err error) bool {
	var f *Failure
	return HasStatus(err, http.StatusConflict) && errors.As(err, &f) && f.reason == metav1.StatusReasonAlreadyExists
}

// Gated reports whether a request was refused with 403 and nothing else. Rancher
// answers so for management.cattle.io of its own cluster: to users who may not get the
// cluster local, and to tokens that it does not accept (rancher
// pkg/api/steve/proxy/proxy.go, authLocalCluster).
func Gated(err error) bool {
	var f *Failure
	return errors.As(err, &f) && f.by == byGate
}

// Denied lists what the user may not do.
type Denied struct {
	Missing []string // "list nodes"
	Expired bool     // the credentials were not accepted at all
	Server  string   // that did not accept them; "" for one that is not known
	// Forbidden: a Rancher has answered that with 403 (k8s.RancherMinor.TokenForbidden).
	Forbidden bool
}

func (d *Denied) Error() string {
	if d.Forbidden {
		return "Rancher does not accept the token for this cluster: it answers 403 for the user system:unauthenticated, as Rancher " +
			k8s.FirstRancher(func(r k8s.RancherMinor) string { return r.TokenForbidden }) + " does if a token has expired or was deleted; no permission is missing: create an API key without a scope, and run the command again"
	}
	if d.Expired {
		return cmp.Or(d.Server, "the API server") + " does not accept the credentials; log in again, they may have expired"
	}
	return "missing permissions: " + strings.Join(d.Missing, ", ") + "; request them, docs/permissions.md has the roles"
}

// ExitCode is that of a refusal.
func (d *Denied) ExitCode() transform.ExitCode { return transform.ExitRefused }

// Lacks reports whether the user lacks a permission; else the credentials were not accepted, or it is another error.
func Lacks(err error) bool {
	d, is := errors.AsType[*Denied](err)
	return is && !d.Expired
}

// Unreached means that a cluster could not be looked at.
type Unreached struct {
	What string
	Err  error
}

func (u *Unreached) Error() string {
	if f := (*Failure)(nil); errors.As(u.Err, &f) {
		return fmt.Sprintf("%s; check the API server, and run the command again", f)
	}
	advice := "check the network and the API server"
	switch {
	case errors.Is(u.Err, context.Canceled):
		return u.What + ": interrupted"
	case untrusted(u.Err):
		advice = "check the address and the certificate authority of the cluster, and who else may answer there"
	case NoCredentials(u.Err):
		advice = "log in again, or check the program that the kubeconfig has for the user"
	}
	server, what := networkError(u.Err)
	return fmt.Sprintf("%s%s: %s; %s, and run the command again", server, u.What, what, advice)
}

// networkError is what the network reports, without the request that client-go repeats, and the server.
func networkError(err error) (server, what string) {
	if u, is := errors.AsType[*url.Error](err); is {
		if at, e := url.Parse(u.URL); e == nil {
			server = at.Scheme + "://" + at.Host + ": "
		}
		err = u.Err
	}
	if op, is := errors.AsType[*net.OpError](err); is {
		err = op.Err
	}
	what, _, _ = strings.Cut(err.Error(), "\n") // a hint to other documents
	return server, redact.Text(strings.TrimPrefix(strings.TrimPrefix(what, "getting credentials: exec: "), "connect: "))
}

// ExitCode is that of a cluster that could not be looked at.
func (u *Unreached) ExitCode() transform.ExitCode { return transform.ExitFailed }

func (u *Unreached) Unwrap() error { return u.Err }

// unreached distinguishes refusals of the server, which stay as they are, from what kept
// it from answering.
func unreached(ctx context.Context, what string, err error) error {
	var f *Failure
	if errors.As(err, &f) && (f.NotTaken() || f.Code < 500 && f.Code != http.StatusTooManyRequests && !f.foreign()) {
		return f
	}
	if ctx.Err() != nil && f == nil {
		err = ctx.Err()
	}
	return &Unreached{what, err}
}

// NoCredentials reports whether the program that a kubeconfig names for credentials
// gave none (k8s.io/client-go/plugin/pkg/client/auth/exec).
func NoCredentials(err error) bool {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	return err != nil && strings.HasPrefix(err.Error(), "getting credentials: ")
}

func untrusted(err error) bool {
	return errors.As(err, new(x509.UnknownAuthorityError)) || errors.As(err, new(x509.HostnameError)) ||
		errors.As(err, new(x509.CertificateInvalidError)) || errors.As(err, new(tls.RecordHeaderError))
}

// Refusal turns an error of one request into the *Denied that it is, if it
// does. What already says so keeps its words.
func Refusal(err error) error {
	if errors.As(err, new(*Denied)) {
		return err
	}
	return Joined([]error{err})
}

// Joined makes one error of several: all rights that are missing, or the first of
// the others.
func Joined(errs []error) error {
	denied := &Denied{}
	var first error
	for _, err := range errs {
		f, _ := errors.AsType[*Failure](err)
		d, _ := errors.AsType[*Denied](err)
		switch {
		case err == nil:
		case d != nil && d.Expired:
			return d
		case d != nil:
			denied.Missing = append(denied.Missing, d.Missing...)
		case HasStatus(err, http.StatusUnauthorized) || f != nil && f.by == byLogin:
			return &Denied{Expired: true, Server: f.server, Forbidden: f.by == byLogin}
		case f != nil && f.by == byRouter:
			denied.Missing = append(denied.Missing, "get clusters.management.cattle.io "+f.entry)
		case HasStatus(err, http.StatusForbidden) && f.by != byUnready:
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

// denial is who within a server denied a request. Its code does not show that: a webhook
// denies with whichever it likes, Rancher's own also with 401 and 500.
type denial int

const (
	byNoOne      denial = iota // what is wrong is of another kind
	byAuthorizer               // the user lacks a right
	byAdmission                // a webhook, a policy or a plugin does not take what is written
	byUnready                  // a plugin or a Rancher that does not know enough yet, and soon will
	byGate                     // a Rancher, before it passed the request on; it gives no reason
	byRouter                   // a Rancher, which does not let the user to a cluster
	byLogin                    // a Rancher, which does not accept the token
)

const (
	// webhook begins what a webhook has to say
	// (k8s.io/apiserver/pkg/admission/plugin/webhook/errors).
	webhook = `admission webhook "`
	// forbidden is before the reason of everyone else
	// (k8s.io/apiserver/pkg/endpoints/handlers/responsewriters, k8s.io/apiserver/pkg/admission).
	forbidden = "forbidden: "
)

// Rancher hands a request on to a cluster of its own for users who have permission to get that one, and refuses all
// others in a form of its own (rancher pkg/k8slookup). Those whose token it does not accept are unauthenticated to
// some (ranchers.Release.TokenForbidden).
const (
	entry           = `clusters.management.cattle.io "`
	unauthenticated = `User "system:unauthenticated" `
)

// routed reads off an answer that no API server wrote whether a Rancher let no one through, and to which cluster.
func routed(code int, message string) (denial, string) {
	id, reason, found := strings.Cut(strings.TrimPrefix(message, entry), `" is `+forbidden)
	switch {
	case code != http.StatusForbidden || !found || !strings.HasPrefix(message, entry):
		return byNoOne, ""
	case strings.HasPrefix(reason, unauthenticated):
		return byLogin, id
	}
	return byRouter, id
}

// impersonator is who makes a user's requests to a cluster of a Rancher. Rancher makes its account with the first
// of them, and its rights from what it keeps of the user's logins (rancher pkg/impersonation).
const impersonator = `User "system:serviceaccount:cattle-impersonation-system:`

// unready are reasons of plugins whose own view of the cluster is not there yet: that
// of an API server that has just started, and that of a quota that is new.
var unready = []string{"not yet ready to handle request", "status unknown for quota"}

// deniedBy reads off a server's message who denied a request. Words in the text of a
// webhook or a policy mean nothing, for these may say anything.
func deniedBy(message string) denial {
	if strings.HasPrefix(message, webhook) {
		return byAdmission
	}
	what, reason, denied := strings.Cut(message, forbidden)
	if !denied || what != "" && !strings.HasSuffix(what, " is ") {
		return byNoOne
	}
	switch {
	case strings.HasPrefix(reason, impersonator) && strings.Contains(reason, " cannot impersonate "),
		slices.ContainsFunc(unready, func(words string) bool { return strings.HasPrefix(reason, words) }):
		return byUnready
	case strings.HasPrefix(reason, `User "`) && strings.Contains(reason, " cannot "):
		return byAuthorizer
	}
	return byAdmission
}
