// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package jsonpatch makes JSON patches (RFC 6902) that a server applies only to
// the object that they were made from.
//
// Invariant: every location that a patch changes is tested for its old value
// first, and so is the object's UID. What is tested is the text that the server
// gave, for servers compare texts.
package jsonpatch
