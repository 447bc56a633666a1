// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package exitcode

import (
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestTheFirstErrorThatSaysACodeDecides(t *testing.T) {
	refused, failed := New(Refused, "refused"), New(Failed, "failed")
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, Done},
		{errors.New("a flag is not known"), Input},
		{refused, Refused},
		{fmt.Errorf("harbour.yaml: %w", refused), Refused},
		{fmt.Errorf("helm upgrade: %w", &exec.ExitError{}), Input},
		{errors.Join(errors.New("interrupted"), failed), Failed},
		{errors.Join(failed, refused), Failed},
	} {
		assert.Equal(t, Of(c.err), c.want, c.err)
	}
	assert.Equal(t, Or(errors.New("interrupted"), Failed), Failed, "an error without a code")
}
