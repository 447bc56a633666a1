// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package yamledit changes one thing in a YAML stream and keeps every other
// byte.
//
// Invariant: the YAML library finds and proves, a splice writes. A [Document]
// is immutable. An [Edit] queues changes against its nodes; [Edit.Apply] turns
// them into splices of the original bytes, parses the result again and compares
// it with the original tree plus the promised changes. If the two differ in
// anything, no bytes are returned.
//
// What a value means is read as Kubernetes clients read it: YAML 1.1 through
// JSON (see [Node.Value]). The place of a value is read from the positions that
// go.yaml.in/yaml/v3 reports: lines count CR, LF, CRLF, NEL, LS and PS, columns
// count runes, and a byte order mark at the start is not counted.
package yamledit
