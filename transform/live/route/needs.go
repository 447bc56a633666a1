// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/rights"
)

// Needs returns what of the table of rights a plan needs that not every cluster does.
func Needs(p *transform.Plan) []string {
	var when []string
	for _, s := range p.Steps {
		for _, a := range slices.Concat(s.Stage.Before, s.Stage.After, s.Stage.UndoBefore, s.Stage.UndoAfter) {
			switch a.(type) {
			case transform.CopySecret, transform.SecretFromFile:
				when = append(when, rights.CloudConfig)
			case transform.ApplyConfigMap, transform.ApplyFile, transform.DeleteObject:
				when = append(when, rights.Configurations)
			case transform.Cordon, transform.Uncordon:
				when = append(when, rights.Cordon)
			case transform.InitializeNodes:
				when = append(when, rights.ProviderIDs)
			case transform.HelmUpgrade:
				when = append(when, rights.Helm)
			}
		}
	}
	slices.Sort(when)
	return slices.Compact(when)
}
