// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"errors"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

func TestWidenedSelectors(t *testing.T) {
	const entry = onAWS + "machineSelectorConfig:\n- config: {debug: true}\n  "
	checkRule(t, "selector-widened", []ruleCase{
		{"well spelt", "", entry + forControlPlanes + "\n", chosen, nil},
		{"none", "", entry[:len(entry)-3], chosen, nil},
		{"the selector", "", entry + "machineLabelSelectors: {matchLabels: {a: b}}\n", chosen, []string{"error 11"}},
		{"another name for it", "", entry + "labelSelector: {matchLabels: {a: b}}\n", chosen, []string{"error 11"}},
		{"without the selector", "", entry + "matchLabels: {a: b}\n", chosen, []string{"error 11"}},
		{"the labels", "", entry + "machineLabelSelector:\n    matchLabel: {a: b}\n", chosen, []string{"error 12"}},
		{"the expressions", "", entry + "machineLabelSelector:\n    matchExpression: [{key: a, operator: Exists}]\n", chosen, []string{"error 12"}},
		{"labels right below it", "", entry + "machineLabelSelector:\n    rke.cattle.io/etcd-role: 'true'\n    zone: a\n", chosen, []string{"error 12", "error 13"}},
		{"a word of one's own", "", entry + "comment: for all\n", chosen, nil},
	})
	list := about(linted(t, release, entry+"machineLabelSelector: {matchLabels: {a: b}, matchLabel: {c: d}}\n", chosen).Findings(""), "selector-widened")
	assert.True(t, len(list) == 1 && list[0].Message == "Rancher drops this unknown field, so the entry matches more machines than intended", list)
}

func TestWidenedSelectorsAreRenamed(t *testing.T) {
	const entry = onAWS + "machineSelectorConfig:\n- config: {}\n- config: {debug: true}\n  "
	repairs(t, []struct{ name, before, want string }{
		{"the selector", entry + "machineLabelSelectors: {matchLabels: {a: b}}\n", entry + "machineLabelSelector: {matchLabels: {a: b}}\n"},
		{"another name for it", entry + "labelSelector:\n    matchLabels: {a: b}\n", entry + "machineLabelSelector:\n    matchLabels: {a: b}\n"},
		{"its parts", entry + "machineLabelSelector:\n    matchLabel: {a: b}\n    matchExpression: [{key: a, operator: Exists}]\n", entry + "machineLabelSelector:\n    matchLabels: {a: b}\n    matchExpressions: [{key: a, operator: Exists}]\n"},
		{"all at once", entry + "labelSelectors: {matchlabels: {a: b}}\n", entry + "machineLabelSelector: {matchLabels: {a: b}}\n"},
		{"one after the other", entry + "machineLabelselector: {matchlabels: {a: b}}\n", entry + "machineLabelSelector: {matchLabels: {a: b}}\n"},
		{"not where both are", entry + "machineLabelSelector: {matchLabels: {a: b}, matchLabel: {c: d}}\n", entry + "machineLabelSelector: {matchLabels: {a: b}, matchLabel: {c: d}}\n"},
		{"not what is of another kind", entry + "machineLabelSelector: {matchExpression: {a: b}}\n", entry + "machineLabelSelector: {matchExpression: {a: b}}\n"},
		{"not what would be invalid", entry + "machineLabelSelector: {matchExpression: [{key: a, operator: In}]}\n", entry + "machineLabelSelector: {matchExpression: [{key: a, operator: In}]}\n"},
	})
}

func TestInvalidSelectorsAreFindings(t *testing.T) {
	const config = onAWS + "machineSelectorConfig:\n- config: {debug: true}\n  machineLabelSelector: {matchExpressions: [{key: a, operator: in, values: [b]}]}\n"
	_, err := Format().Lint(transform.Only(parse(t, document(release, config))), chosen)
	var refused *transform.Refused
	assert.Must(t, errors.As(err, &refused), err)
	f := refused.Finding()
	assert.True(t, f.Rule == "selector-invalid" && f.Line == 11 && f.Path == "spec.rkeConfig.machineSelectorConfig[0].machineLabelSelector.matchExpressions[0]" && f.Severity == transform.Error && f.Fix != "", f)
	assert.Equal(t, f.Message, "the selector is invalid, and Rancher refuses the whole cluster")
}

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
	p := planned(t, release, onAWS+"machineSelectorConfig:\n- config: {debug: true}\n  machineLabelSelector: {}\n", chosen)
	after := step(t, p, "enable-leader-migration").Documents[0].After.Root().Get("spec", "rkeConfig", selectorKey)
	assert.True(t, after.Len() == 3 && !after.Items()[2].Get(selectorField).Exists(), after.Value())
}
