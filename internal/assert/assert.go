// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package assert is for tests: what most of their statements require, in a line each.
//
// Invariant: what does not hold fails the test at the line of the call.
package assert

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// NilError ends the test where there is an error.
func NilError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Value returns the value of a call, or ends the test with its error.
func Value[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		NilError(t, err)
		return v
	}
}

// Equal fails the test where two values differ. It shows what they are of, if that is given.
func Equal[T comparable](t testing.TB, got, want T, of ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%sgot\n%v\nwant\n%v", title(of), got, want)
	}
}

// DeepEqual fails the test where two values differ anywhere in them.
func DeepEqual(t testing.TB, got, want any, of ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s(-want +got):\n%s", title(of), diff)
	}
}

// EqualSlices fails the test where two lists differ; no list and an empty one are equal.
func EqualSlices[S ~[]E, E comparable](t testing.TB, got, want S, of ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%sgot\n%v\nwant\n%v", title(of), got, want)
	}
}

// Contains fails the test where a text has no such part.
func Contains(t testing.TB, text, part string, of ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%sno %q in\n%s", title(of), part, text)
	}
}

// ContainsAll fails the test where a text has not all of some parts.
func ContainsAll(t testing.TB, text string, parts []string, of ...any) {
	t.Helper()
	for _, part := range parts {
		Contains(t, text, part, of...)
	}
}

// ErrorContains fails the test where there is no error with such a part in its text.
func ErrorContains(t testing.TB, err error, part string, of ...any) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("%sno %q in the error\n%v", title(of), part, err)
	}
}

// Error is ErrorContains for a call with a value.
func Error[T any](_ T, err error) func(t testing.TB, part string, of ...any) {
	return func(t testing.TB, part string, of ...any) {
		t.Helper()
		ErrorContains(t, err, part, of...)
	}
}

// True fails the test where something does not hold, and shows what is given.
func True(t testing.TB, holds bool, of ...any) {
	t.Helper()
	if !holds {
		t.Error(title(of))
	}
}

// Truef does so with a message.
func Truef(t testing.TB, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, args...)
	}
}

// Must ends the test where something does not hold.
func Must(t testing.TB, holds bool, of ...any) {
	t.Helper()
	if !holds {
		t.Fatal(title(of))
	}
}

// Mustf does so with a message.
func Mustf(t testing.TB, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Fatalf(format, args...)
	}
}

// title shows what a check is of.
func title(of []any) string {
	if len(of) == 0 {
		return ""
	}
	return strings.TrimRight(fmt.Sprintf(strings.Repeat("%+v ", len(of)), of...), " ") + "\n"
}
