// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package exitcode

import (
	"errors"
	"fmt"
	"os/exec"
	"testing"
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
		if got := Of(c.err); got != c.want {
			t.Errorf("%v: %d", c.err, got)
		}
	}
	if got := Or(errors.New("interrupted"), Failed); got != Failed {
		t.Errorf("an error without a code: %d", got)
	}
}
