// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/procedure"
)

// settled waits until all machines have taken the document over.
func (m *migration) settled() transform.Action {
	return transform.ClusterSettled{Namespace: m.Namespace, Name: m.Name}
}

// holder looks at the migration lease, if there is one.
func (m *migration) holder(why string) []transform.Action {
	return procedure.Holder(m.target, why)
}
