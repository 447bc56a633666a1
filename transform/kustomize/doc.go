// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package kustomize reports whether overlays change what a document says: patches,
// replacements and the like of kustomizations, and the overlays of Fleet. It reads
// them and never renders.
//
// Invariant: an overlay counts as changing a document when it names the kind and
// the name of its object and something other than its labels and annotations, or
// when it cannot be read; another name counts where two versions are compared.
// Which files refer to each other is the caller's to find.
package kustomize
