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
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// What --short-leases adds are timings alone: without them every stage makes what it makes without the option.
func TestShortLeasesChangeNothingButTimings(t *testing.T) {
	sweep(t)
	changed := 0
	for _, file := range goldenFiles(t) {
		for _, c := range chunksOf(file) {
			_, usual := goldenPlan(c, transform.Target{EndState: transform.EndStateExternal})
			_, short := goldenPlan(c, transform.Target{EndState: transform.EndStateExternal, ShortLeases: true})
			if usual == nil || short == nil || !short.Target.ShortLeases || strings.Contains(string(c.Bytes), "leader-elect-") {
				continue
			}
			for i, s := range short.Steps {
				if want := usual.Steps[i]; s.Changes() && want.Changes() {
					got := s.After()[0].Root().Value()
					if diff := cmp.Diff(withoutTimings(want.After()[0].Root().Value()), withoutTimings(got)); diff != "" {
						t.Errorf("%s: %s (-without +with the option):\n%s", file.Name, s.Stage.Name, diff)
					}
				}
			}
			if s, _ := short.Step(stages.EnableLeaderMigration); s.Changes() {
				changed++
				after := s.After()[0].Root().Value()
				assert.Truef(t, !reflect.DeepEqual(after, withoutTimings(after)), "%s: the stage adds no timings", file.Name)
			}
		}
	}
	assert.Truef(t, changed > 50, "only %d clusters get timings", changed)
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
