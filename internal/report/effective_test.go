// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/redact"
)

func TestAPoolThatIsNamedLikeASecretIsNotShown(t *testing.T) {
	for name, want := range map[string]string{"control": "control", "AKIAQ0000ZQ0000ZFAKE": redact.Mark} {
		assert.Equal(t, NewClass(transform.MachineClass{Name: name}, "").Name, want, name)
	}
}
