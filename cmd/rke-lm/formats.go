// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"

	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	manifests "github.com/rke-lm/rke-lm/transform/manifest"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
)

// No other file of this package names RKE1 or RKE2.

// formats is the one list of what rke-lm knows.
var formats = sync.OnceValue(func() []transform.Format {
	return []transform.Format{rke2.Format(), rke1.Format(), manifests.Format()}
})

// releaseTables describes the tables of what Rancher gives releases.
func releaseTables() facts {
	return facts{Date: effective.TablesDate(), Newest: effective.Newest("")}
}

// knownImages states the minors for which an image of the cloud-controller-manager is known.
func knownImages() string {
	return "RKE2 " + ccm.Known(rke2.Name) + ", RKE " + ccm.Known(rke1.Name)
}

// engine runs its kube-controller-manager outside of pods.
var engine = run.Engine{
	Owns: rke1.IsCluster, Arguments: rke1.ManagerArguments,
	Applied: func(e *rollout.Engine, title string) (check.Given, []check.Given, bool, error) {
		return rke1.Served{Applied: e.Applied, Spec: e.Spec, Failed: e.Failed}.Arguments(title)
	},
}
