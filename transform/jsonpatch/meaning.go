// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package jsonpatch

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
)

// Alike reports whether two versions of an object, as decoded JSON with numbers as
// they are written, mean the same; nil means equality. A server that writes an
// object through its own types writes the same in another form.
type Alike func(a, b any) bool

// Fits reports whether all tests of the patch hold for an object: what they name means
// what it meant when the patch was made. Without alike a server would not refuse the
// patch for having changed. The UID is compared as text.
func (p Patch) Fits(object []byte, alike Alike) bool {
	return p.agrees(object, alike, func(o Operation) bool { return o.Op == Test })
}

// Applied reports whether an object is the one that the patch was made for, with all of
// its changes in it: making them again would change nothing.
func (p Patch) Applied(object []byte, alike Alike) bool {
	return p.agrees(object, alike, func(o Operation) bool { return o.Op != Test })
}

// agrees reports whether an object says what some of the operations say.
func (p Patch) agrees(object []byte, alike Alike, counts func(Operation) bool) bool {
	if alike == nil {
		alike = reflect.DeepEqual
	}
	is, err := value(object)
	if err != nil {
		return false
	}
	as := is
	for _, o := range p {
		if o.Path == uidPath && o.Op == Test {
			if uid, err := json.Marshal(uidOf(object)); err != nil || !same(uid, o.Value) {
				return false
			}
			continue
		}
		if !counts(o) {
			continue
		}
		var fits bool
		if as, fits = o.within(as, strings.Split(o.Path, "/")[1:]); !fits {
			return false
		}
	}
	return alike(is, as)
}

// within returns an object with the result of the operation below some keys, made of another
// one, and whether there is one. A mapping that is missing above the value is made.
func (o Operation) within(at any, keys []string) (any, bool) {
	if len(keys) == 0 {
		v, err := value(o.Value)
		return v, err == nil
	}
	m, isMap := at.(map[string]any)
	if !isMap && at != nil {
		return nil, false
	}
	key := unescapes.Replace(keys[0])
	inner, there := m[key]
	if o.Op == Remove && (len(keys) == 1 || !there) {
		if !there {
			return at, true
		}
		m = maps.Clone(m)
		delete(m, key)
		return m, true
	}
	inner, fits := o.within(inner, keys[1:])
	if !fits {
		return nil, false
	}
	if m = maps.Clone(m); m == nil {
		m = map[string]any{}
	}
	m[key] = inner
	return m, true
}

// value decodes JSON, with numbers as they are written: a large one has no other form
// that is safe.
func value(raw json.RawMessage) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
