// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package rke1 plans the migration of clusters that RKE describes: a
// cluster.yml, the same below rancher_kubernetes_engine_config, and Rancher's
// API JSON.
//
// Invariant: a key is looked up by what RKE calls it, however the document spells
// it, and what an edit adds is spelt as the document spells its neighbours. RKE's
// own types read and check; they never write.
package rke1
