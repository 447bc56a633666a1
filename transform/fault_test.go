// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
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

func TestAPanicBecomesAnErrorThatNamesTheDocumentAndTheCode(t *testing.T) {
	var none []string
	err := Guard("fleet.yaml:12: document 2", func() error { return errors.New(none[3]) })
	var fault *Fault
	assert.Must(t, errors.As(err, &fault) && fault.At == "fleet.yaml:12: document 2", err)
	assert.True(t, strings.Contains(fault.What, "index out of range") && strings.Contains(fault.Code, "fault_test.go:"), err)
}

func TestThePanicOfALibraryIsNotQuoted(t *testing.T) {
	err := Guard("fleet.yaml", func() error { panic("cannot read hunter2") })
	assert.True(t, err != nil && !strings.Contains(err.Error(), "hunter2"), err)
}

func TestAnErrorPassesAGuard(t *testing.T) {
	want := errors.New("an error")
	err := Guard("fleet.yaml", func() error { return want })
	assert.True(t, errors.Is(err, want), err)
}
