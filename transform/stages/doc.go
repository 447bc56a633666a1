// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package stages holds what a stage of the migration means, in every distro: one file for
// each.
package stages
