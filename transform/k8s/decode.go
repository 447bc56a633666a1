// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"

	kjson "k8s.io/apimachinery/pkg/util/json"
	sjson "sigs.k8s.io/json"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Decode reads a document as the type of its API, as an API server does: unknown fields are left out. A
// value of another type fails the whole document; then Decode returns the innermost
// node that is the cause, and the type that it should have, which is "" otherwise.
func Decode[T any](root yamledit.Node) (v T, at yamledit.Node, what string) {
	v, err := decode[T](root.Value())
	if err == nil {
		return v, at, ""
	}
	at, err = blame[T](root, err, func(v any) any { return v })
	return v, at, expected(err)
}

func decode[T any](v any) (o T, err error) {
	err = kjson.Unmarshal([]byte(yamledit.JSON(v)), &o)
	return o, err
}

// blame finds the innermost node that fails to decode when nothing but the way
// to it is left of the document. whole puts that way around a value of n.
func blame[T any](n yamledit.Node, err error, whole func(any) any) (yamledit.Node, error) {
	inside, hollow := members(n)
	if len(inside) == 0 {
		return n, err
	}
	if _, err := decode[T](whole(hollow)); err != nil {
		return n, err // a collection of this kind is already wrong
	}
	for _, m := range inside {
		wholeWith := func(v any) any { return whole(alone(m, v)) }
		if _, err := decode[T](wholeWith(m.Value())); err != nil {
			return blame[T](m, err, wholeWith)
		}
	}
	return n, err
}

// members returns what a collection holds, and a collection like it without.
func members(n yamledit.Node) (nodes []yamledit.Node, hollow any) {
	if !n.IsMap() {
		return n.Items(), []any{}
	}
	return lists.Map(n.Entries(), func(e yamledit.Entry) yamledit.Node { return e.Value }), map[string]any{}
}

// alone returns the collection around n with v as its only member.
func alone(n yamledit.Node, v any) any {
	if n.Parent().IsMap() {
		return map[string]any{n.Key(): v}
	}
	return []any{v}
}

// expected returns the type that was expected where decoding failed. The error's own
// text would quote the value.
func expected(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return "the value cannot be read"
	}
	switch wrong.Type.Kind() {
	case reflect.String:
		return "this must be a string"
	case reflect.Bool:
		return "this must be true or false"
	case reflect.Slice:
		return "this must be a list"
	case reflect.Map, reflect.Struct:
		return "this must be a mapping"
	}
	return "this must be a whole number in range"
}

// Strictness is what decoding into a type finds in a document: unknown and
// duplicate fields, and how often, or that it does not decode. It names fields, never values.
type Strictness struct {
	what   string // the type
	fields map[string]int
	err    error
}

// listIndex is the place in a list; an entry in front of others moves them.
var listIndex = regexp.MustCompile(`\[\d+\]`)

// NewStrictness counts what a strict decoder says of fields. what names the type.
func NewStrictness(what string, messages []string, err error) Strictness {
	s := Strictness{what, map[string]int{}, err}
	for _, message := range messages {
		s.fields[listIndex.ReplaceAllString(message, "[]")]++
	}
	return s
}

// DecodeStrict decodes a document. what names the type.
func DecodeStrict[T any](root yamledit.Node, what string) (v T, s Strictness) {
	fields, err := sjson.UnmarshalStrict(root.JSON(), &v)
	return v, NewStrictness(what, lists.Map(fields, error.Error), err)
}

// Fits reports whether the document decodes, whatever other fields it has.
func (s Strictness) Fits() bool { return s.err == nil }

// Allows fails when decoding the successor finds a field that was not there
// before, or finds one more often.
func (s Strictness) Allows(after Strictness) error {
	if err := errors.Join(s.err, after.err); err != nil {
		return fmt.Errorf("it does not decode as %s", s.what)
	}
	for _, field := range lists.Keys(after.fields) {
		if after.fields[field] > s.fields[field] {
			return fmt.Errorf("the result has a field that its schema does not allow: %s", field)
		}
	}
	return nil
}

// CheckType decodes a document as DecodeStrict does, and says what is wrong with one that does not fit as Decode does.
func CheckType[T any](root yamledit.Node, what string) (s Strictness, at yamledit.Node, wrong string) {
	if _, s = DecodeStrict[T](root, what); !s.Fits() {
		_, at, wrong = Decode[T](root)
	}
	return s, at, wrong
}
