// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// snapshots is the configuration that every cluster should have.
const snapshots = "etcd: {snapshotScheduleCron: 0 */5 * * *, snapshotRetention: 5}\n"

// linted opens a configuration as lint does.
func linted(t *testing.T, version, config string, target transform.Target) transform.Cluster {
	t.Helper()
	return assert.Value(Format().Lint(transform.Only(parse(t, document(version, config))), target))(t)
}

// ruleCase is a configuration and what one rule finds in it, as severity and
// line. The first line of a configuration is line 7.
type ruleCase struct {
	name, version, config string
	target                transform.Target
	want                  []string
}

// checkRule runs cases of one rule. No version means one of the minor 1.26.
func checkRule(t *testing.T, rule string, cases []ruleCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.version == "" {
				c.version = release
			}
			var got []string
			for _, f := range about(linted(t, c.version, c.config, c.target).Findings(""), rule) {
				got = append(got, fmt.Sprintf("%s %d", f.Severity, f.Line))
				assert.True(t, f.Message != "" && f.Fix != "" && f.File == "c.yaml" && strings.HasPrefix(f.Path, "spec"), f)
			}
			slices.Sort(got)
			assert.DeepEqual(t, got, c.want)
		})
	}
}

// repairs compares what the fixes make of configurations, and requires that the
// fixes of the result leave it alone.
func repairs(t *testing.T, cases []struct{ name, before, want string }) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			fixed, made := plan.Repair(Format(), linted(t, release, c.before, chosen), chosen)
			assert.DeepEqual(t, configOf(fixed.Documents()[0]), c.want)
			again, more := plan.Repair(Format(), fixed, chosen)
			assert.Truef(t, len(more) == 0 && (len(made) > 0) == (c.before != c.want), "%v, and a second time %v:\n%s", made, more, configOf(again.Documents()[0]))
		})
	}
}

// jsonFields lists the names that a type's fields have in YAML.
func jsonFields(v any) []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}
