// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// ControlPlanesAtOnce is for an upgrade strategy that restarts several control planes
// together. The migration lease still lets one manager run the cloud controllers, so it
// stops nothing.
var ControlPlanesAtOnce = transform.Rule{
	ID: "control-planes-at-once", Severity: transform.Warning, Guards: FlagEdits, Acceptable: true,
	Doc: "upgradeStrategy lets several control planes restart at once: controlPlaneConcurrency of RKE2, which counts for control planes without etcd, and max_unavailable_controlplane of RKE1. Their kube-apiservers and kube-controller-managers are down together, and the time in which no manager runs the cloud controllers is longer. Two managers still never run them at once, because of the migration lease.",
}

// Restart is how many control planes a strategy takes at once.
type Restart struct {
	By        string // the program that restarts them
	Most, All int    // that many of all
	Of        string // what they are called
	Key       string // what to set to one
}

// MostControlPlanes is taken for a number of control planes that a document does not
// tell: an upper bound.
const MostControlPlanes = 5

// AtOnce evaluates a strategy at a node.
func AtOnce(at yamledit.Node, r Restart, found *transform.Findings) {
	if r.Most < 2 {
		return
	}
	many := fmt.Sprintf("up to %d", r.Most)
	if r.Most >= r.All {
		many = "all"
	}
	found.At(at, r.By+" restarts "+many+" of the "+r.Of+" at once: their kube-apiservers and kube-controller-managers are down together, and no manager runs the cloud controllers for longer than in a rollout one by one",
		"set "+r.Key+` to "1" for the migration`)
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
