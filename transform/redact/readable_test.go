// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"os"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// TestWhatOnlyRefersToASecretStaysReadable: the lines name a secret, describe one, or look like one from afar, and the
// arguments are ordinary ones of Kubernetes' components. A reviewer needs them.
func TestWhatOnlyRefersToASecretStaysReadable(t *testing.T) {
	linesOf := func(file string) []string {
		text := assert.Value(os.ReadFile("testdata/" + file))(t)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	lines := linesOf("readable.txt")
	for _, a := range linesOf("arguments.txt") {
		lines = append(lines, `kube-apiserver-arg: ["`+a+`"]`, "kube-apiserver-arg:\n    - "+a)
		assert.Equal[any](t, Value("kube-apiserver-arg", []any{a}).([]any)[0], a, "a value")
		assert.Equal(t, Text(a), a, "a message")
	}
	for _, line := range lines {
		text := "x:\n  " + line + "\n  y: 1\n"
		assert.Equal(t, redacted(t, text), text)
	}
}
