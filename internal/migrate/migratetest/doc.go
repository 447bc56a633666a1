// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package migratetest is a Rancher with one cluster, for tests of runs over it. Its
// machines follow the cluster's object at once: they get their plans, run the managers
// that it asks for, and these take their leases.
//
// Invariant: what the machines run is worked out from the object as Rancher has it,
// never from what a run said that it did.
package migratetest
