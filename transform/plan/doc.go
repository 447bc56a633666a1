// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package plan is the engine of all formats: it applies the stages of a cluster one after another to its documents,
// chooses among them, undoes them, and keeps them for a later run. Every step was proven before anything gets it:
// the result is parsed again, compared with its promise and checked by its stage.
package plan
