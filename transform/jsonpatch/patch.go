// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package jsonpatch

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
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

// Bytes returns the patch as it is sent. It may hold secrets.
func (p Patch) Bytes() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // values stay the text that they are, but for blanks between their parts
	if err := e.Encode(p); err != nil {
		panic(err) // values were parsed before
	}
	return bytes.TrimSpace(b.Bytes())
}

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
