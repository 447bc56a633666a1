// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
)

// Cluster is what stages have to know of a cluster, whatever its format.
type Cluster struct {
	Target transform.Target
	// Selector matches the control planes, on which the DaemonSet of the chart runs; "" for
	// a cloud-controller-manager of another manifest.
	Selector string
	// Electors are the managers in the documents.
	Electors Electors
}

// InOtherDocument is a stage that happens in another document, or not at all.
func InOtherDocument(why string, inspect ...action.Action) transform.Stage {
	return transform.Stage{Why: why, After: inspect}
}
