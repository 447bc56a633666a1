// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import "github.com/rke-lm/rke-lm/transform/action"

// settled waits until all machines have taken the document over.
func (m *migration) settled() action.Action {
	return action.ClusterSettled(m.Namespace, m.Name)
}
