// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"errors"
	"strings"
	"testing"
)

func TestAPanicBecomesAnErrorThatNamesTheDocumentAndTheCode(t *testing.T) {
	var none []string
	err := Guard("fleet.yaml:12: document 2", func() error { return errors.New(none[3]) })
	var fault *Fault
	if !errors.As(err, &fault) || fault.At != "fleet.yaml:12: document 2" {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(fault.What, "index out of range") || !strings.Contains(fault.Code, "fault_test.go:") {
		t.Errorf("%v", err)
	}
}

func TestThePanicOfALibraryIsNotQuoted(t *testing.T) {
	err := Guard("fleet.yaml", func() error { panic("cannot read hunter2") })
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}

func TestAnErrorPassesAGuard(t *testing.T) {
	want := errors.New("an error")
	if err := Guard("fleet.yaml", func() error { return want }); !errors.Is(err, want) {
		t.Errorf("%v", err)
	}
}
