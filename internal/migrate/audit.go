// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// audit appends entries to a file, each on the disk before it returns. A nil file
// keeps nothing.
type audit struct{ file *os.File }

// auditLock keeps the runs of this process apart, which have the same file.
var auditLock sync.Mutex

// openAudit opens a log, and returns the intents in it, of one cluster, that have no
// result. Half a last line is of a run that was killed while it wrote: before
// the act, or after one whose intent is there; it is removed.
func openAudit(name, uid string) (*audit, []Entry, error) {
	if name == "" {
		return &audit{}, nil, nil
	}
	auditLock.Lock()
	defer auditLock.Unlock()
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("the audit log cannot be opened: %w; name another file with --audit-log", err)
	}
	if info, lost := f.Stat(); lost == nil && !info.Mode().IsRegular() {
		f.Close()
		return nil, nil, fmt.Errorf("%s: it is not a file, so the entries of an earlier run cannot be read; use another one with --audit-log", name)
	}
	open, err := recoverAudit(f, uid)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w; use another file with --audit-log", name, err)
	}
	return &audit{f}, open, nil
}

// lineStart begins every line of a log.
const lineStart = `{"apiVersion":"` + AuditVersion + `","kind":"` + AuditKind + `",`

var errNoLog = errors.New("it holds something else than an audit log")

// recoverAudit reads a log and leaves it with whole lines. It returns the intents, of one
// cluster, that have no result.
func recoverAudit(f *os.File, uid string) ([]Entry, error) {
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	entries, err := ReadAudit(text[:whole])
	if err != nil {
		return nil, err
	}
	open := Unfinished(slices.DeleteFunc(entries, func(e Entry) bool { return e.Cluster.UID != uid }))
	if half := string(text[whole:]); half != "" {
		if !strings.HasPrefix(half, lineStart) && !strings.HasPrefix(lineStart, half) {
			return nil, errNoLog
		}
		return open, f.Truncate(int64(whole))
	}
	return open, nil
}

// ReadAudit reads the entries of an audit log of whole lines.
func ReadAudit(text []byte) ([]Entry, error) {
	var list []Entry
	for line := range bytes.Lines(text) {
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil || e.Kind != AuditKind {
			return nil, errNoLog
		}
		list = append(list, e)
	}
	return list, nil
}

// Unfinished returns the intents that no later entry has the result of.
func Unfinished(entries []Entry) []Entry {
	var open []Entry
	for _, e := range entries {
		if e.Phase == Intent {
			open = append(open, e)
			continue
		}
		open = slices.DeleteFunc(open, func(o Entry) bool { return o.ID == e.ID })
	}
	return open
}

// add writes an entry.
func (a *audit) add(e Entry) error {
	if a.file == nil {
		return nil
	}
	line, _ := json.Marshal(e) // its types cannot fail
	auditLock.Lock()
	defer auditLock.Unlock()
	if err := a.append(append(line, '\n')); err != nil {
		return fmt.Errorf("the audit log cannot be written: %w; free disk space or use another file with --audit-log, and run the command again", err)
	}
	return nil
}

// append brings a line to the disk. Half a line, as a full disk leaves it, is
// removed: the next one would follow it on the same line, and the log could not be read.
func (a *audit) append(line []byte) error {
	before, err := a.file.Stat()
	if err != nil {
		return err
	}
	n, err := a.file.Write(line)
	if err == nil {
		return a.file.Sync()
	}
	now, lost := a.file.Stat()
	if lost == nil && n > 0 && now.Size() == before.Size()+int64(n) { // else another run has written since
		err = errors.Join(err, a.file.Truncate(before.Size()))
	}
	return err
}

func (a *audit) close() error {
	if a.file == nil {
		return nil
	}
	return a.file.Close()
}

// AuditVersion and AuditKind are in every line of an audit log.
const AuditVersion, AuditKind = "rke-lm/v1", "AuditEntry"

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
func (o Ref) String() string { return o.Kind + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/") }

func newEntry(e Entry) Entry {
	e.APIVersion, e.Kind, e.Time = AuditVersion, AuditKind, time.Now().UTC()
	return e
}
