// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import "strings"

// denial is who within a server denied a request. Its code does not show that: a webhook
// denies with whichever it likes, Rancher's own also with 401 and 500.
type denial int

const (
	byNoOne      denial = iota // what is wrong is of another kind
	byAuthorizer               // the user lacks a right
	byAdmission                // a webhook, a policy or a plugin does not take what is written
	byUnready                  // a plugin that does not know enough yet to decide, and soon will
	byGate                     // a Rancher, before it passed the request on; it gives no reason
	byRouter                   // a Rancher, which does not accept the token
)

const (
	// webhook begins what a webhook has to say
	// (k8s.io/apiserver/pkg/admission/plugin/webhook/errors).
	webhook = `admission webhook "`
	// forbidden is before the reason of everyone else
	// (k8s.io/apiserver/pkg/endpoints/handlers/responsewriters, k8s.io/apiserver/pkg/admission).
	forbidden = "forbidden: "
)

// unauthenticated is whom Rancher takes a user for whose token it does not accept. From 2.9 on it lets no one but users
// who may get a cluster through to it, and refuses others with 403 (rancher
// pkg/multiclustermanager/routes.go, pkg/k8slookup).
const unauthenticated = `User "system:unauthenticated" `

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
	if strings.HasPrefix(reason, `User "`) && strings.Contains(reason, " cannot ") {
		return byAuthorizer
	}
	for _, words := range unready {
		if strings.HasPrefix(reason, words) {
			return byUnready
		}
	}
	return byAdmission
}
