// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestTheFirstErrorThatSaysACodeDecides(t *testing.T) {
	refused, failed := NewError(ExitRefused, "refused"), NewError(ExitFailed, "failed")
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, ExitDone},
		{errors.New("a flag is not known"), ExitInput},
		{refused, ExitRefused},
		{fmt.Errorf("harbour.yaml: %w", refused), ExitRefused},
		{fmt.Errorf("helm upgrade: %w", &exec.ExitError{}), ExitInput},
		{errors.Join(errors.New("interrupted"), failed), ExitFailed},
		{errors.Join(failed, refused), ExitFailed},
	} {
		assert.Equal(t, ExitCodeOf(c.err), c.want, c.err)
	}
	assert.Equal(t, ExitCodeOr(errors.New("interrupted"), ExitFailed), ExitFailed, "an error without a code")
}
