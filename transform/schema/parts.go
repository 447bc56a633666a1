// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"reflect"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// DecodeParts decodes a document as DecodeStrict does, the entries of the mapping at a
// path one by one: an edit changes few of them, and what a part decodes to depends on
// its text alone. T and what is on the path are structs, or pointers to them.
func DecodeParts[T any](root yamledit.Node, what string, path ...string) (whole T, s Strictness) {
	s = Strictness{what: what, fields: transform.StrictErrors{}}
	for _, text := range root.JSONParts(path...) {
		p := yamledit.Recall(root.Document(), text, func() (p part[T]) {
			p.value, p.strict = decodeStrict[T](text, what)
			return p
		})
		fill(reflect.ValueOf(&whole).Elem(), reflect.ValueOf(p.value))
		s.err = errors.Join(s.err, p.strict.err)
		for field, n := range p.strict.fields {
			s.fields[field] += n
		}
	}
	return whole, s
}

// part is what a text decodes to; many documents share it.
type part[T any] struct {
	value  T
	strict Strictness
}

// fill takes over what a part sets. No two parts set the same field, but all of them
// have the structs on the path, which other documents share.
func fill(whole, part reflect.Value) {
	for i := range part.NumField() {
		from, to := part.Field(i), whole.Field(i)
		switch {
		case from.IsZero():
		case to.IsZero():
			to.Set(from)
		case to.Kind() == reflect.Pointer:
			own := reflect.New(to.Type().Elem())
			own.Elem().Set(to.Elem())
			fill(own.Elem(), from.Elem())
			to.Set(own)
		default:
			fill(to, from)
		}
	}
}
