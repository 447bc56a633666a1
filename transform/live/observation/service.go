// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observation

import "time"

// Service is a Service of type LoadBalancer.
type Service struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Hosts     []string `json:"hosts"` // host names or addresses of its load balancer
	// Elsewhere means that another controller than those of the cloud provider serves it.
	Elsewhere bool `json:"elsewhere,omitempty"`
	Deleting  bool `json:"deleting,omitempty"`
	// What follows is kept of a Service that is pending.
	UID string `json:"uid,omitempty"`
	// Asked is when it asked for a load balancer, by the API server's clock.
	Asked time.Time `json:"asked,omitzero"`
	// Failure is the last Warning Event of the service controller about it; nil where
	// there is none.
	Failure *Failure `json:"failure,omitempty"`
}

// Failure is an Event, without secrets.
type Failure struct {
	Reason  string `json:"reason"` // one word
	Message string `json:"message"`
}

// Pending reports whether the cloud controllers owe the Service a load balancer.
func (s Service) Pending() bool { return len(s.Hosts) == 0 && !s.Elsewhere && !s.Deleting }

// For returns for how long it has been pending at least, by the API server's clock,
// which wrote both times.
func (s Service) For(clock time.Time) time.Duration {
	if s.Asked.IsZero() || clock.IsZero() {
		return 0
	}
	return max(0, clock.Sub(s.Asked))
}
