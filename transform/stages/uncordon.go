// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

// UncordonControlPlane is the stage that lets the control planes take workloads again.
const UncordonControlPlane = "uncordon-control-plane"
