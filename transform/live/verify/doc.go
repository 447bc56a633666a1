// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package verify evaluates a cluster as it was observed.
//
// Invariant: a rule finds what was seen, and says so where something could not
// be seen. A verdict never rests on the clock of another machine, nor on an
// identity alone.
package verify
