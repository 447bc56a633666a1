// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

// SwitchToExternal is the stage that makes the provider external.
const SwitchToExternal = "switch-to-external"
