// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
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

// The types of events.
const (
	Began    = "began"    // the run holds the lock
	Noted    = "note"     // something to know
	Staged   = "stage"    // what a stage will do
	Written  = "written"  // something was written
	Awaited  = "waiting"  // what is waited for
	Checked  = "checked"  // the check after a stage passes
	Watched  = "owners"   // who owned the cloud controllers during a stage
	Stopped  = "stopped"  // the run ends before its end
	Finished = "finished" // the run is complete
)

// Event is what happens in a run. It may hold secrets of the cluster's object:
// report.NewRunEvent redacts it.
type Event struct {
	Time    time.Time `json:"time"`
	Cluster string    `json:"cluster"`
	Type    string    `json:"type"`
	Stage   string    `json:"stage,omitempty"`
	Message string    `json:"message,omitempty"`

	// From and To are the cluster's object before and after the edit of a stage; nil
	// where it has none. Diff shows them to people.
	From     *yamledit.Document        `json:"-"`
	To       *yamledit.Document        `json:"-"`
	Diff     string                    `json:"diff,omitempty"`
	Prepare  []action.Action           `json:"prepare,omitempty"` // what the user has to have done
	Actions  []action.Action           `json:"actions,omitempty"`
	Findings []transform.Finding       `json:"findings,omitempty"`
	Machines []rollout.MachineProgress `json:"machines,omitempty"`
	Owners   *Owned                    `json:"owners,omitempty"` // during a stage
	End      *Outcome                  `json:"end,omitempty"`    // of a run that ends
}

// Outcome is how a run ends.
type Outcome struct {
	Done     []string `json:"done"`            // the stages that are done
	Leader   string   `json:"holds"`           // what holds of the cluster now
	Continue string   `json:"again,omitempty"` // the command that continues
	Revert   string   `json:"back,omitempty"`  // the command that goes back
}

// emit sends an event of a run.
func (r *run) emit(event Event) {
	if r.OnEvent == nil {
		return
	}
	event.Time, event.Cluster, event.Stage = time.Now().UTC(), r.title, r.progress.stage
	r.OnEvent(event)
}

func (r *run) note(message string) { r.emit(Event{Type: Noted, Message: message}) }

func (r *run) noteFindings(list []transform.Finding) {
	if len(list) > 0 {
		r.emit(Event{Type: Noted, Message: fmt.Sprintf("findings: %d", len(list)), Findings: list})
	}
}

// reasons are what Events call acts.
var reasons = map[string]string{
	actPatch: "LeaderMigrationStage", actSnapshot: "LeaderMigrationEtcdSnapshot", actKeep: "LeaderMigrationSnapshot",
	actCordon: "LeaderMigrationCordon", actRelease: "LeaderMigrationUncordon", actTaint: "LeaderMigrationTaint",
	actApply: "LeaderMigrationApply", actDelete: "LeaderMigrationDelete", actHelm: "LeaderMigrationHelm",
}

// event says the result of an act on the cluster's object. An Event has the name of
// its entry. It is for people: the run does not depend on it.
func (r *run) event(ctx context.Context, e Entry) {
	if r.mute {
		return
	}
	at, kind := e.Cluster, corev1.EventTypeNormal
	if e.Result != resultDone && e.Result != foundDone {
		kind = corev1.EventTypeWarning
	}
	err := r.Server.Local().CreateEvent(ctx, e.ID, corev1.Event{
		InvolvedObject: corev1.ObjectReference{APIVersion: r.Object.Kind.APIVersion(), Kind: "Cluster", Namespace: at.Namespace, Name: at.Name, UID: types.UID(at.UID)},
		Reason:         reasons[e.Act], Message: message(e), Type: kind,
		Source: corev1.EventSource{Host: e.Who.Host}, ReportingController: "rke-lm.io/" + e.Verb, ReportingInstance: e.Run,
		Action: e.Act, FirstTimestamp: metav1.NewTime(e.Time),
	})
	if err != nil {
		r.mute = true
		r.note("no further Events are written on the cluster's object: " + err.Error())
	}
}

// message says an entry in a sentence; it names no value.
func message(e Entry) string {
	text := e.Act + " " + e.Object.String()
	if e.Stage != "" {
		text = "stage " + e.Stage + ": " + text
	}
	if e.Digest != "" {
		text += ", sha256 " + e.Digest
	}
	text += ": " + e.Result + ", by " + e.Who.Name + " on " + e.Who.Host
	if e.Error != "" {
		text += " (" + e.Error + ")"
	}
	return text
}

// End says how a run ended before its end.
type End struct {
	Title, Stage string
	Err          error
	Outcome      Outcome
}

func (e *End) Error() string {
	where := ""
	if e.Stage != "" {
		where = " at " + e.Stage
	}
	lines := []string{fmt.Sprintf("%s: stopped%s: %s", e.Title, where, e.Err), "  done: " + cmp.Or(strings.Join(e.Outcome.Done, ", "), "no stage"), "  now: " + e.Outcome.Leader}
	if e.Outcome.Continue != "" {
		lines = append(lines, "  to continue: "+e.Outcome.Continue, "  to roll back: "+e.Outcome.Revert)
	}
	return strings.Join(lines, "\n")
}

func (e *End) Unwrap() error { return e.Err }

// endedBy is an error with the findings that the run could not get past.
type endedBy struct {
	error
	findings []transform.Finding
}

func (e *endedBy) Unwrap() error { return e.error }

// ExitCode is that of what ended the run. What does not come in time, and whoever
// ends it, says none.
func (e *End) ExitCode() transform.ExitCode { return transform.ExitCodeOr(e.Err, transform.ExitFailed) }

// end reports how the run ended.
func (r *run) end(err error) error {
	if r.plan == nil {
		return err
	}
	e := &End{Title: r.title, Stage: r.progress.stage, Err: err, Outcome: Outcome{Done: r.progress.done, Leader: stages.LeaderAfter(r.progress.last(), r.plan.Target)}}
	if err == nil {
		message := "all requested stages are done"
		if r.progress.stage = ""; !r.progress.wrote {
			message = "nothing to do"
		}
		r.emit(Event{Type: Finished, Message: message, End: &e.Outcome})
		return nil
	}
	e.Outcome.Leader = transition.Between(r.plan.Target, r.progress.last(), r.progress.stage, r.progress.edit)
	if r.lock != nil {
		e.Outcome.Continue, e.Outcome.Revert = r.Continue, r.Revert
	}
	stopped := Event{Type: Stopped, Message: e.Err.Error(), End: &e.Outcome}
	if by, is := errors.AsType[*endedBy](err); is {
		stopped.Findings = by.findings
	}
	r.emit(stopped)
	return e
}
