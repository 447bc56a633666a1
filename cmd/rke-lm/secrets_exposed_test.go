// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// unredacted is what would be printed if nothing were redacted: the diffs and
// the configuration of every class.
func unredacted(t *testing.T, doc *yamledit.Document) string {
	t.Helper()
	var b strings.Builder
	for _, end := range []string{transform.EndStateExternal, transform.EndStateOverride} {
		plan, err := transform.Build(rke2.Distro(), transform.Only(doc), transform.Target{EndState: end})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range plan.Steps {
			b.WriteString(udiff.Unified("a", "b", string(s.Before()[0].Bytes()), string(s.After()[0].Bytes())))
			for _, f := range s.Findings {
				b.WriteString(f.Message + "\n")
			}
		}
	}
	classes, err := rke2.Distro().Explain(transform.Only(doc), transform.Target{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range classes {
		fmt.Fprintln(&b, c.Labels)
		for _, s := range c.Settings {
			fmt.Fprintln(&b, s.Key, s.Value, s.Why)
		}
	}
	return b.String()
}

// exposed are places whose secrets each verb would print if it did not redact
// them; the others are too far from an edit to be in a diff.
var exposed = []string{
	"a comment above the provider", "a comment beside the provider", "a comment below the provider",
	"a comment above an argument", "a comment beside an argument", "an argument of the manager",
	"an argument that is nothing else", "an argument with a blank", "a command in a comment",
	"a comment below an argument", "cloud-provider-config", "a harmless name in cloud-provider-config", "extra-env of the manager",
	"kubelet-arg", "agent-token", "an inline file", "a comment in an inline file",
	"extra-env in a flow list", "extra-env of a selector", "an argument of the manager in a selector",
	"a comment below an argument in a selector", "a ConfigMap", "a file in a ConfigMap",
	"the value of a selector", "a label of a pool", "a Secret in a List",
	"an argument of the kubelet", "an argument of the chart", "a comment between the chart's arguments",
	"the environment of the chart",
}

// requirePlanted makes sure that the test can fail: the secrets are there, and
// would be printed.
func requirePlanted(t *testing.T, p *planter, s spelling, text string, doc *yamledit.Document) {
	t.Helper()
	in, shown := marks(text), marks(unredacted(t, doc))
	oneLine := !strings.Contains(p.kind.make(0), "\n") // the others push each other out of the diffs
	for n, place := range p.places {
		isComment := strings.HasPrefix(place, "a comment") || strings.HasSuffix(place, "a comment")
		if !in[n] && (s.comments || !isComment) {
			t.Errorf("%s from %s is not in the input", p.kind.name, place)
		}
		if in[n] && !shown[n] && oneLine && slices.Contains(exposed, place) {
			t.Errorf("%s from %s would not be printed even if nothing were redacted", p.kind.name, place)
		}
	}
	if len(shown) == 0 {
		t.Errorf("%s would not be printed even if nothing were redacted", p.kind.name)
	}
}
