// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package route decides how a live cluster goes through the stages, forward and
// backward: what comes next, and what has to hold after it.
//
// Invariant: it uses what the cluster's object and the cluster itself show, and
// nothing that a run remembers; so a run that was killed is continued by the
// same decisions.
package route
