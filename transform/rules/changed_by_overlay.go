// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/rke-lm/rke-lm/transform"
)

// ChangedByOverlay refuses a document that kustomizations or Fleet change before it
// reaches a cluster; package kustomize finds them.
var ChangedByOverlay = transform.Rule{
	ID: "changed-by-overlay", Severity: transform.Error, Acceptable: true,
	Doc: "Refused: a kustomization or an overlay of Fleet changes the cluster, so that the file is not what reaches it, and an edit can get lost. Plan the output of `kubectl kustomize`.",
}
