// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package account holds what a cluster needs in its AWS account before stages of a
// migration: rights of its machines, tags of its resources, credentials for ECR.
//
// Invariant: all of it is done by hand. The commands look first where they can, add
// and never take away, and name no value that the cluster's file does not show:
// the shell refuses a command whose variables are not set.
package account
