// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package report writes plans, findings and configurations for people and for
// programs.
//
// Invariant: it decides nothing and shows no secret: every document passes
// through redact before a byte of it is written.
package report
