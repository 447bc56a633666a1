// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

// CordonControlPlane is the stage that keeps new pods off the control planes during the
// switch.
const CordonControlPlane = "cordon-control-plane"
