// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"testing"

	"github.com/rke-lm/rke-lm/transform"
)

func TestClustersThatTheInterfaceCannotEdit(t *testing.T) {
	const entry = onAWS + "machineSelectorConfig:\n- config: {debug: true}\n  "
	checkRule(t, "ui-edit-fails", []ruleCase{
		{"no entries at all", "", onAWS, chosen, nil},
		{"an empty list", "", onAWS + "machineSelectorConfig: []\n", chosen, []string{"warning 9"}},
		{"null", "", onAWS + "machineSelectorConfig:\n", chosen, []string{"warning 9"}},
		{"entries with selectors alone", "", entry + forControlPlanes + "\n- config: {}\n  " + forWorkers + "\n", chosen, []string{"warning 9"}},
		{"an empty selector", "", entry + "machineLabelSelector: {}\n", chosen, []string{"warning 9"}},
		{"one entry without", "", entry + forControlPlanes + "\n- config: {}\n", chosen, nil},
		{"a later Rancher", "", onAWS + "machineSelectorConfig: []\n", transform.Target{RancherVersion: "2.10.0"}, nil},
		{"an unknown Rancher", "", onAWS + "machineSelectorConfig: []\n", transform.Target{RancherVersion: "v2.99.0"}, []string{"warning 9"}},
		{"a selector of null", "", entry + "machineLabelSelector: null\n", chosen, nil},
	})
	repairs(t, []struct{ name, before, want string }{
		{"an empty list", onAWS + "machineSelectorConfig: []\n", onAWS + "machineSelectorConfig:\n  - config: {}\n"},
		{"null", onAWS + "machineSelectorConfig:\n", onAWS + "machineSelectorConfig:\n  - config: {}\n"},
		{"selectors alone", entry + forControlPlanes + "\n", entry + forControlPlanes + "\n- config: {}\n"},
		{"nothing where there is one", entry + forControlPlanes + "\n- config: {}\n", entry + forControlPlanes + "\n- config: {}\n"},
	})
}

// The stages leave an entry for the interface, also next to an empty selector.
func TestTheFlagLeavesAnEntryForTheInterface(t *testing.T) {
	p := plan(t, release, onAWS+"machineSelectorConfig:\n- config: {debug: true}\n  machineLabelSelector: {}\n", chosen)
	after := step(t, p, "enable-leader-migration").Documents[0].After.Root().Get("spec", "rkeConfig", selectorKey)
	if n := after.Len(); n != 3 || after.Items()[2].Get(selectorField).Exists() {
		t.Errorf("%d entries: %v", n, after.Value())
	}
}
