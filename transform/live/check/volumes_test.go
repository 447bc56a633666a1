// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// A dump of kubectl holds the kinds that were requested; what is absent from it says
// nothing.
func TestVolumesOfADumpWithoutDriversAreNoError(t *testing.T) {
	drivers := []observed.NodeDrivers{{Node: "one", Drivers: []string{"ebs.csi.aws.com"}}}
	for _, c := range []struct {
		name    string
		partial bool
		drivers []observed.NodeDrivers
		want    []string
	}{
		{"a cluster without drivers", false, nil, []string{"in-tree-volumes error"}},
		{"a cluster with them", false, drivers, nil},
		{"a dump that does not tell", true, nil, []string{"in-tree-volumes note"}},
		{"a dump with drivers", true, drivers, nil},
		{"a dump with other drivers", true, []observed.NodeDrivers{{Node: "one", Drivers: []string{}}}, []string{"in-tree-volumes error"}},
	} {
		o := scene(inTree, nil, kubeLease(true))
		o.StorageClasses, o.Partial, o.Drivers = []string{"gp2"}, c.partial, c.drivers
		o.Kinds = []string{observed.Nodes, observed.Leases, observed.Pods, observed.StorageClasses}
		if c.drivers != nil {
			o.Kinds = append(o.Kinds, observed.CSINodes)
		}
		assert.EqualSlices(t, rulesFound(o, ""), c.want, c.name)
	}
}
