// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"

	sjson "sigs.k8s.io/json"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Strictness is what decoding into a type finds in a document: unknown and
// duplicate fields, or that it does not decode.
type Strictness struct {
	what   string // the type
	fields transform.StrictErrors
	err    error
}

// DecodeStrict decodes a document. what names the type.
func DecodeStrict[T any](root yamledit.Node, what string) (v T, s Strictness) {
	s = Strictness{what: what, fields: transform.StrictErrors{}}
	fields, err := sjson.UnmarshalStrict(root.JSON(), &v)
	s.err = err
	for _, f := range fields {
		s.fields.Add(f.Error())
	}
	return v, s
}

// Fits reports whether the document decodes, whatever other fields it has.
func (s Strictness) Fits() bool { return s.err == nil }

// Allows fails when decoding the successor finds a field that was not there
// before, or finds one more often.
func (s Strictness) Allows(after Strictness) error {
	if err := errors.Join(s.err, after.err); err != nil {
		return fmt.Errorf("it does not decode as %s", s.what)
	}
	return after.fields.Worse(s.fields)
}

// NewFields compares two documents, as Allows does.
func NewFields[T any](before, after yamledit.Node, what string) error {
	_, old := DecodeStrict[T](before, what)
	_, now := DecodeStrict[T](after, what)
	return old.Allows(now)
}
