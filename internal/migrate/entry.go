// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"strings"
	"time"
)

// AuditVersion and AuditKind are in every line of an audit log.
const (
	AuditVersion = "rke-lm/v1"
	AuditKind    = "AuditEntry"
)

// The phases of an entry.
const (
	Intent = "intent" // before the act
	Result = "result" // after it
)

// The results of acts.
const (
	resultDone    = "done"
	resultFailed  = "failed"  // nothing was written
	resultUnknown = "unknown" // it is not known whether it was written
	// A run that was killed after an intent leaves no result. The next run looks.
	foundDone    = "found-done"
	foundNotDone = "found-not-done"
	foundUnknown = "found-unknown"
)

// Entry is one line of an audit log.
type Entry struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Time       time.Time `json:"time"`
	ID         string    `json:"id"` // the same for an intent and its result
	Run        string    `json:"run"`
	Who        User      `json:"who"`
	Cluster    Ref       `json:"cluster"`
	Verb       string    `json:"verb"`
	Stage      string    `json:"stage,omitempty"`
	Act        string    `json:"act"`
	Object     Ref       `json:"object"`
	// Digest is the SHA-256 of what was sent.
	Digest string `json:"digest,omitempty"`
	Phase  string `json:"phase"`
	Result string `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Ref names an object.
type Ref struct {
	Server    string `json:"server"` // "local" for Rancher's own cluster, or the ID of another one
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
}

// String names the object for people.
func (o Ref) String() string {
	return o.Kind + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
}

func newEntry(e Entry) Entry {
	e.APIVersion, e.Kind, e.Time = AuditVersion, AuditKind, time.Now().UTC()
	return e
}
