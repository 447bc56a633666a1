// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"net/http"
	"slices"
	"strings"
)

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
