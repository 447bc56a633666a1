// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
)

// ControlPlanesAtOnce is for an upgrade strategy that restarts several control planes
// together. The migration lease keeps the managers to one owner all the same, so it
// stops nothing.
func ControlPlanesAtOnce(guards []string) transform.Rule {
	return transform.Rule{
		ID: "control-planes-at-once", Severity: transform.Warning, Guards: guards, Acceptable: true,
		Doc: "upgradeStrategy lets several control planes restart at once: controlPlaneConcurrency of RKE2, which counts for control planes without etcd, and max_unavailable_controlplane of RKE1. Their kube-apiservers and kube-controller-managers are down together, and the time in which no manager runs the cloud controllers is longer. The migration lease still has one owner.",
	}
}

// MostControlPlanes is taken for a number of control planes that a document does not tell.
const MostControlPlanes = 5

// SaidOfAtOnce is what ControlPlanesAtOnce says of so many out of all of which; key is
// what to set to one. The number is an upper bound where the document does not tell how
// many control planes there are.
func SaidOfAtOnce(who string, most, all int, which, key string) Said {
	many := fmt.Sprintf("up to %d", most)
	if most >= all {
		many = "all"
	}
	return Said{
		who + " restarts " + many + " of the " + which + " at once: their kube-apiservers and kube-controller-managers are down together, and no manager runs the cloud controllers for longer than in a rollout one by one",
		"set " + key + ` to "1" for the migration`,
	}
}

// Concurrency reads how many of all machines a strategy takes at once: a number, or a
// percentage, which is rounded. ok is false for anything else.
func Concurrency(value any, all int, round func(float64) float64) (n int, ok bool) {
	text := fmt.Sprint(value)
	if n, err := strconv.Atoi(text); err == nil {
		return n, true
	}
	percent, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	return int(round(float64(all) * percent / 100)), err == nil
}
