// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package forms recognizes files that describe clusters in a form that is not read, such as
// Terraform, a configuration file of RKE2 or a script that writes one.
//
// Invariant: it reads lines and no syntax, so a line that may be about the provider, the arguments
// of a manager or the version counts, wherever it is and whatever is around it. A file that has
// no such line is of no form. Comments never count.
package forms
