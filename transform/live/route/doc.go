// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package route says which way a live cluster goes through the stages, there and
// back: what comes next, and what has to hold after it.
//
// Invariant: it goes by what the cluster's object and the cluster itself show, and
// by nothing that a run remembers; so a run that was killed is continued by the
// same decisions.
package route
