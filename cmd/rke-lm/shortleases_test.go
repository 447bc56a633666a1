// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// timingsAreAllThatChanges requires that --short-leases adds timings alone: without them every stage makes what it makes
// without the option. It reports whether a stage adds some.
func timingsAreAllThatChanges(t *testing.T, doc *yamledit.Document, usual, short *plan.Plan) bool {
	t.Helper()
	if usual == nil || short == nil || !short.Target.ShortLeases || strings.Contains(string(doc.Bytes()), "leader-elect-") {
		return false
	}
	for i, s := range short.Steps {
		if want := usual.Steps[i]; s.Changes() && want.Changes() {
			diff := cmp.Diff(withoutTimings(want.After()[0].Root().Value()), withoutTimings(s.After()[0].Root().Value()))
			assert.Truef(t, diff == "", "%s (-without +with short leases):\n%s", s.Stage.Name, diff)
		}
	}
	s, _ := short.Step(stages.EnableLeaderMigration)
	if s.Changes() {
		after := s.After()[0].Root().Value()
		assert.True(t, !reflect.DeepEqual(after, withoutTimings(after)), "the stage adds no timings")
	}
	return s.Changes()
}

var aTiming = regexp.MustCompile(`^(--)?leader-elect-(lease-duration|renew-deadline|retry-period)(=|$)`)

// withoutTimings takes the timings of leases out of arguments, in manifests in a string as well.
func withoutTimings(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, inner := range v {
			if inner = withoutTimings(inner); !aTiming.MatchString(key) && !reflect.DeepEqual(inner, map[string]any{}) {
				out[key] = inner
			}
		}
		return out
	case []any:
		out := []any{}
		for _, inner := range v {
			text, _ := inner.(string)
			if named, is := inner.(map[string]any); is { // as kubeadm has arguments
				text, _ = named["name"].(string)
			}
			if !aTiming.MatchString(text) {
				out = append(out, withoutTimings(inner))
			}
		}
		return out
	case string:
		return regexp.MustCompile(`(?m)^ *- --leader-elect-.*\n`).ReplaceAllString(v, "")
	}
	return v
}
