// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package schema reads documents as the types of their APIs, and says where they
// do not fit.
//
// Invariant: a type reads and checks and never writes. What is said of a
// document names fields and never quotes a value.
package schema

import (
	"encoding/json"
	"errors"
	"reflect"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Read decodes a document as an API server does: unknown fields are left out. A
// value of another type fails the whole document; then Read returns the innermost
// node that is the cause, and the type that it should have, which is "" otherwise.
func Read[T any](root yamledit.Node) (v T, at yamledit.Node, what string) {
	v, err := decode[T](root.Value())
	if err == nil {
		return v, at, ""
	}
	at, err = blame[T](root, err, func(v any) any { return v })
	return v, at, expected(err)
}

func decode[T any](v any) (o T, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = kjson.Unmarshal(text, &o)
	}
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
	for _, e := range n.Entries() {
		nodes = append(nodes, e.Value)
	}
	return nodes, map[string]any{}
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
