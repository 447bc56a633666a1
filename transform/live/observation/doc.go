// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package observation holds what was seen of a live cluster: plain structs, which
// are also the dump that a person can read and hand on.
//
// Invariant: an Observation holds what a decision needs and nothing else: no
// environment, no data of a Secret, no argument that looks like one. What could
// not be determined is said to be unknown and never left out silently.
package observation
