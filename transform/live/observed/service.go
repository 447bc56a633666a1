// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observed

import "time"

// Service is a Service of type LoadBalancer.
type Service struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Hosts     []string `json:"hosts"` // host names or addresses of its load balancer
	// OtherController means that another controller than those of the cloud provider serves it.
	OtherController bool `json:"elsewhere,omitempty"`
	// Deleting means that the load balancer is to be deleted, with the Service or without it.
	Deleting bool `json:"deleting,omitempty"`
	// What follows is kept of a Service for which the cloud controllers have something to do.
	UID string `json:"uid,omitempty"`
	// Asked is since when they have it to do, by the API server's clock: since the Service asked
	// for a load balancer, or for its deletion, or since its changes fail.
	Asked time.Time `json:"asked,omitzero"`
	// Failure is the last Warning Event of the service controller about it; nil where
	// there is none, or where it reports that it succeeded since.
	Failure *Failure `json:"failure,omitempty"`
}

// Failure is an Event, without secrets.
type Failure struct {
	Reason  string `json:"reason"` // one word
	Message string `json:"message"`
}

// Pending reports whether the cloud controllers owe the Service a load balancer.
func (s Service) Pending() bool { return len(s.Hosts) == 0 && !s.OtherController && !s.Deleting }

// Stale reports whether its load balancer is not as the Service asks for: it is still there, or
// changes of it fail.
func (s Service) Stale() bool { return !s.Pending() && !s.OtherController && !s.Asked.IsZero() }

// For returns for how long they have had it to do at least, by the API server's clock,
// which wrote both times.
func (s Service) For(clock time.Time) time.Duration {
	if s.Asked.IsZero() || clock.IsZero() {
		return 0
	}
	return max(0, clock.Sub(s.Asked))
}
