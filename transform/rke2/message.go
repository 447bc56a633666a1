// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"github.com/rke-lm/rke-lm/transform"
)

// settled waits until all machines have taken the document over.
func (m *migration) settled() transform.Action {
	return transform.ClusterSettled{Namespace: m.Namespace, Name: m.Name}
}
