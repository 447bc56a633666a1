// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

// Rancher describes a cluster by an object of one kind, and permissions depend on it.
func TestEveryKindOfObjectsIsThatOfOneFormat(t *testing.T) {
	for _, kind := range []transform.ObjectKind{transform.Provisioning, transform.Management} {
		of := slices.DeleteFunc(slices.Clone(formats()), func(d transform.Format) bool { return d.Live.Kind != kind })
		assert.Truef(t, len(of) == 1 && of[0].Live.Snapshot != nil, "%d formats have objects of %s", len(of), kind.APIVersion())
	}
}
