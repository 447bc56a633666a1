// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestASecretIsHiddenWhereItIsWrittenWhoeverRefersToIt(t *testing.T) {
	for _, text := range []string{
		"note: &a hunter2\ntoken: *a\n",
		"note: &a {x: hunter2}\npassword: *a\n",
		"base: &a\n  x: hunter2\nkind: Secret\nstringData: *a\n",
		"base: &a\n  x: hunter2\nkind: Secret\nstringData:\n  <<: *a\n",
		"base: &a {name: MY_TOKEN}\nenv:\n  - <<: *a\n    value: hunter2\n",
		"note: &a |\n  hunter2\ntoken: *a\n",
	} {
		out := redacted(t, text)
		assert.True(t, !strings.Contains(out, "hunter2"), out)
	}
}
