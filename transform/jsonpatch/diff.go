// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package jsonpatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// uidPath is tested in every patch: an object that was created again under the same
// name is another one.
const uidPath = "/metadata/uid"

var (
	errNoObject = errors.New("the text is not a JSON object")
	errNoUID    = errors.New("the object has no metadata.uid, so it is not from an API server; get it from the API")
	errNull     = errors.New("the change is in or next to a list with an empty member (null), which an API server cannot compare; remove that member from the object, and plan again")
	errRoot     = errors.New("the change adds a key next to metadata and spec, which no test operation can guard; make the change manually")
)

// Diff returns the patch that turns an object of a server into another version of
// it. A list that changes is replaced as a whole, and tested as a whole; a key that
// is added tests the mapping that it comes into. Without a difference the patch is
// empty.
func Diff(before, after []byte) (Patch, error) {
	old, isMap := mapping(before)
	new, isMapToo := mapping(after)
	if !isMap || !isMapToo {
		return nil, errNoObject
	}
	d := differ{}
	if err := d.mappings("", before, old, new); err != nil {
		return nil, err
	}
	if len(d.changes) == 0 {
		return nil, nil
	}
	uid, there := find(before, uidPath)
	if !there || len(bytes.Trim(uid, `" `)) == 0 || uid[0] != '"' {
		return nil, errNoUID
	}
	if slices.ContainsFunc(d.tests, func(o Operation) bool { return o.Path == "" }) {
		return nil, errRoot
	}
	tests := d.needed()
	if slices.ContainsFunc(tests, func(o Operation) bool { v, err := value(o.Value); return err != nil || hasNull(v) }) {
		return nil, errNull
	}
	return slices.Concat(Patch{{Test, uidPath, uid}}, tests, d.changes), nil
}

// hasNull reports whether there is a null in a list: a server that is to compare it ends
// the request with a panic (gopkg.in/evanphx/json-patch.v4, lazyNode.equal).
func hasNull(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(m any) bool { return m == nil || hasNull(m) })
	case map[string]any:
		for _, m := range v {
			if hasNull(m) {
				return true
			}
		}
	}
	return false
}

// differ gathers what a patch is made of.
type differ struct{ tests, changes Patch }

// mappings compares two mappings at a path; whole is the text of the old one.
func (d *differ) mappings(path string, whole json.RawMessage, old, new map[string]json.RawMessage) error {
	keys := maps.Clone(old)
	maps.Copy(keys, new)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		was, had := old[key]
		is, has := new[key]
		var err error
		switch at := below(path, key); {
		case !had:
			err = errors.Join(d.test(path, whole), d.change(Add, at, is))
		case !has:
			d.changes = append(d.changes, Operation{Op: Remove, Path: at})
			err = d.test(at, was)
		default:
			err = d.values(at, was, is)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// values compares two values at a path.
func (d *differ) values(path string, was, is json.RawMessage) error {
	old, isMap := mapping(was)
	new, isMapToo := mapping(is)
	switch {
	case isMap && isMapToo:
		return d.mappings(path, was, old, new)
	case same(was, is):
		return nil
	}
	return errors.Join(d.test(path, was), d.change(Replace, path, is))
}

func (d *differ) test(path string, value json.RawMessage) error {
	text, err := compact(value)
	d.tests = append(d.tests, Operation{Test, path, text})
	return err
}

func (d *differ) change(op, path string, value json.RawMessage) error {
	text, err := compact(value)
	d.changes = append(d.changes, Operation{op, path, text})
	return err
}

// needed are the tests that no test of a mapping around them replaces.
func (d *differ) needed() Patch {
	var list Patch
	for i, o := range d.tests {
		covered := slices.ContainsFunc(d.tests, func(t Operation) bool { return strings.HasPrefix(o.Path, t.Path+"/") })
		first := slices.IndexFunc(d.tests, func(t Operation) bool { return t.Path == o.Path })
		if !covered && first == i {
			list = append(list, o)
		}
	}
	return list
}

// same reports whether two texts are one value.
func same(a, b json.RawMessage) bool {
	x, errX := value(a)
	y, errY := value(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}
