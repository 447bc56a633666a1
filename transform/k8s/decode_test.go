// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func root(t *testing.T, text string) yamledit.Node {
	t.Helper()
	return assert.Value(yamledit.ParseString("in.yaml", text))(t).Root()
}

func TestReadBlamesTheInnermostValue(t *testing.T) {
	for _, c := range []struct{ name, in, at, what string }{
		{"a document that fits", "spec: {hostNetwork: true, nodeName: a}\n", "", ""},
		{"unknown fields are left out", "spec: {hostnet: {a: b}}\n", "", ""},
		{"a string for a boolean", "spec: {hostNetwork: s3cr3t}\n", "spec.hostNetwork", "this must be true or false"},
		{"a number for a string", "spec: {nodeName: 7}\n", "spec.nodeName", "this must be a string"},
		{"a mapping for a list", "spec: {containers: {name: a}}\n", "spec.containers", "this must be a list"},
		{"a list for a mapping", "spec: {nodeSelector: [a]}\n", "spec.nodeSelector", "this must be a mapping"},
		{"a string for a number", "spec: {priority: high}\n", "spec.priority", "this must be a whole number in range"},
		{"the second of two items", "spec:\n  containers:\n  - {name: a}\n  - {name: b, command: true}\n", "spec.containers[1].command", "this must be a list"},
	} {
		_, at, what := Decode[corev1.Pod](root(t, c.in))
		assert.Truef(t, at.Path() == c.at && what == c.what && !strings.Contains(what, "s3cr3t"), "%s: %s: %s", c.name, at.Path(), what)
	}
}

func TestStrictnessFindsWhatADocumentGained(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"nothing", "spec: {}\n", "spec: {nodeName: a}\n", ""},
		{"a field that was there", "spec: {odd: 1}\n", "spec: {odd: 2}\n", ""},
		{"a field that goes", "spec: {odd: 1}\n", "spec: {}\n", ""},
		{"an unknown field", "spec: {}\n", "spec: {odd: 1}\n", `unknown field "spec.odd"`},
		{"a second one in another item", "spec: {containers: [{odd: 1}, {}]}\n", "spec: {containers: [{odd: 1}, {odd: 1}]}\n", `unknown field "spec.containers[].odd"`},
		{"a type that does not fit", "spec: {}\n", "spec: s3cr3t\n", "it does not decode as a Pod"},
	} {
		before, _, _ := CheckType[corev1.Pod](root(t, c.before), "a Pod")
		after, _, _ := CheckType[corev1.Pod](root(t, c.after), "a Pod")
		err := before.Allows(after)
		if c.want == "" && err == nil {
			continue
		}
		assert.True(t, err != nil && c.want != "" && strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "s3cr3t"), c.name, err)
	}
}
