// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"errors"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestFindingsPointAtTheirNode(t *testing.T) {
	doc := assert.Value(yamledit.Parse(yamledit.Chunk{File: "l.yaml", Line: 10, Bytes: []byte("a:\n  b: [1, 2]\n")}))(t)
	want := Finding{File: "l.yaml", Line: 12, Path: "a.b[1]", Message: "wrong", Fix: "By default kube-controller-manager has no permission on the migration lease; without it no manager runs the cloud controllers"}
	assert.DeepEqual(t, FindingAt(doc.Root().Get("a", "b").Items()[1], "wrong", "By default kube-controller-manager has no permission on the migration lease; without it no manager runs the cloud controllers"), want)
}

func TestReportFillsInWhatTheRuleKnows(t *testing.T) {
	for _, c := range []struct {
		name   string
		rule   Rule
		own    Severity
		accept []string
		want   Finding
		stops  bool
	}{
		{"an error", Rule{ID: "r", Severity: Error, Reason: Reason{Accept: "If."}}, "", nil, Finding{Rule: "r", Severity: Error}, true},
		{"an error that is accepted", Rule{ID: "r", Severity: Error, Reason: Reason{Accept: "If."}}, "", []string{"q", "r"}, Finding{Rule: "r", Severity: Error, Accepted: true}, false},
		{"another one is accepted", Rule{ID: "r", Severity: Error, Reason: Reason{Accept: "If."}}, "", []string{"q"}, Finding{Rule: "r", Severity: Error}, true},
		{"an error that may not be", Rule{ID: "r", Severity: Error}, "", []string{"r"}, Finding{Rule: "r", Severity: Error}, true},
		{"a warning", Rule{ID: "r", Severity: Warning}, "", nil, Finding{Rule: "r", Severity: Warning}, false},
		{"a warning that is an error here", Rule{ID: "r", Severity: Warning}, Error, nil, Finding{Rule: "r", Severity: Error}, true},
		{"a note", Rule{ID: "r", Severity: Note}, "", nil, Finding{Rule: "r", Severity: Note}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.rule.Report([]Finding{{Severity: c.own}}, c.accept)
			assert.DeepEqual(t, got, []Finding{c.want})
			assert.Equal(t, got[0].Stops(), c.stops, "stops")
		})
	}
}

func TestRefusalsNameRuleAndPlace(t *testing.T) {
	doc := assert.Value(yamledit.Parse(yamledit.Chunk{File: "l.yaml", Bytes: []byte("a: b\n")}))(t)
	err := NotMigratable(doc.Root().Get("a"), "no cluster", "name one")
	var refused *Refused
	var place *yamledit.Error
	assert.Truef(t, errors.As(err, &refused) && refused.Rule == RuleNotMigratable && errors.As(err, &place) && place.Line == 1, "%#v", err)
	want := "l.yaml:1: a: no cluster; name one"
	assert.Truef(t, err.Error() == want, "got %q, want %q", err, want)
}

// A configuration that accepts a rule by the name of the release before accepts it.
func TestARuleIsAcceptedByItsFormerName(t *testing.T) {
	r := Rule{ID: "cloud-controllers-twice", Severity: Error, Reason: Reason{Accept: "If."}}
	for name, want := range map[string]bool{"two-owners": true, "cloud-controllers-twice": true, "lease-ownerless": false, "": false} {
		got := r.Report([]Finding{{}}, []string{name})[0].Accepted
		assert.Truef(t, got == want, "%q: accepted: %v", name, got)
	}
	assert.True(t, !(Rule{ID: "node-rename"}).Is("") && FormerName("node-rename") == "", "a rule whose name is the same has a former name")
}

func TestOnlyRulesThatTakeItAreOfferedToAccept(t *testing.T) {
	rules := []Rule{{ID: "soft", Reason: Reason{Accept: "If."}}, {ID: "hard"}, {ID: "other", Reason: Reason{Accept: "If."}}}
	found := func(ids ...string) (list []Finding) {
		for _, id := range ids {
			list = append(list, Finding{Rule: id, Severity: Error})
		}
		return append(list, Finding{Rule: "other", Severity: Error, Accepted: true}, Finding{Rule: "other", Severity: Warning})
	}
	for want, list := range map[string][]Finding{
		"correct them, or accept them with --accept soft":                            found("soft", "soft"),
		"correct them, or accept them with --accept soft --accept other":             found("soft", "other"),
		"correct them; not all of them can be accepted, but some with --accept soft": found("soft", "hard"),
		"correct them; none of them can be accepted":                                 found("hard", "unknown"),
	} {
		assert.Equal(t, Unblock(list, rules), want)
	}
}
