// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package jsonpatch makes JSON patches (RFC 6902) that a server applies only to
// the object that they were made from.
//
// Invariant: every location that a patch changes is tested for its old value
// first, and so is the object's UID. What is tested is the text that the server
// gave, for servers compare texts.
package jsonpatch

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// ContentType is that of a patch.
const ContentType = "application/json-patch+json"

// The operations that a patch is made of.
const (
	Test    = "test"
	Add     = "add"
	Replace = "replace"
	Remove  = "remove"
)

// Operation is one of RFC 6902.
type Operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"` // a JSON pointer
	Value json.RawMessage `json:"value,omitempty"`
}

// Patch is a list of operations: all tests, then all changes.
type Patch []Operation

// Bytes returns the patch as it is sent: values stay the text that they are, but for blanks between their parts. It may
// hold secrets.
func (p Patch) Bytes() []byte { return []byte(yamledit.JSON(p)) }

// Digest names the patch without showing it: the SHA-256 of its bytes.
func (p Patch) Digest() string { return fmt.Sprintf("%x", sha256.Sum256(p.Bytes())) }

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// uidOf is the UID of an object; "" for none. Its keys are those of the API alone: encoding/json takes them in any case.
func uidOf(object []byte) (uid string) {
	o, _ := mapping(object)
	metadata, _ := mapping(o["metadata"])
	if json.Unmarshal(metadata["uid"], &uid) != nil {
		return ""
	}
	return strings.TrimSpace(uid)
}

// mapping returns the members of an object.
func mapping(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	if text := bytes.TrimSpace(raw); len(text) == 0 || text[0] != '{' {
		return nil, false
	}
	var m map[string]json.RawMessage
	return m, json.Unmarshal(raw, &m) == nil
}

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
	d.mappings("", before, old, new)
	if len(d.changes) == 0 {
		return nil, nil
	}
	uid := uidOf(before)
	if uid == "" {
		return nil, errNoUID
	}
	if slices.ContainsFunc(d.tests, func(o Operation) bool { return o.Path == "" }) {
		return nil, errRoot
	}
	tests := d.needed()
	if slices.ContainsFunc(tests, func(o Operation) bool { v, err := value(o.Value); return err != nil || hasNull(v) }) {
		return nil, errNull
	}
	quoted, err := json.Marshal(uid)
	return slices.Concat(Patch{{Test, uidPath, quoted}}, tests, d.changes), err
}

// hasNull reports whether there is a null in a list: a server that is to compare it ends
// the request with a panic (gopkg.in/evanphx/json-patch.v4, lazyNode.equal).
func hasNull(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(m any) bool { return m == nil || hasNull(m) })
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), hasNull)
	}
	return false
}

// differ gathers what a patch is made of.
type differ struct{ tests, changes Patch }

// mappings compares two mappings at a path; whole is the text of the old one.
func (d *differ) mappings(path string, whole json.RawMessage, old, new map[string]json.RawMessage) {
	for _, key := range lists.Keys(old, new) {
		was, had := old[key]
		is, has := new[key]
		switch at := path + "/" + escapes.Replace(key); {
		case !had:
			d.add(Operation{Test, path, whole}, Operation{Add, at, is})
		case !has:
			d.add(Operation{Test, at, was}, Operation{Op: Remove, Path: at})
		default:
			d.values(at, was, is)
		}
	}
}

// values compares two values at a path.
func (d *differ) values(path string, was, is json.RawMessage) {
	old, isMap := mapping(was)
	new, isMapToo := mapping(is)
	if isMap && isMapToo {
		d.mappings(path, was, old, new)
	} else if !same(was, is) {
		d.add(Operation{Test, path, was}, Operation{Replace, path, is})
	}
}

func (d *differ) add(test, change Operation) {
	d.tests, d.changes = append(d.tests, test), append(d.changes, change)
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
