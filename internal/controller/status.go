// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// resumed reads from a status how far the clusters were.
func resumed(s v1alpha1.LeaderMigrationStatus) (list []transition.Wave, members []migrate.Member) {
	list = lists.Map(s.Waves, func(w v1alpha1.WaveStatus) transition.Wave { return transition.Wave{Name: w.Name} })
	for _, c := range s.Clusters {
		i := slices.IndexFunc(list, func(w transition.Wave) bool { return w.Name == c.Wave })
		if i < 0 {
			continue // a status of this program has every wave
		}
		list[i].Clusters = append(list[i].Clusters, c.Name)
		members = append(members, memberOf(c))
	}
	return list, members
}

func memberOf(c v1alpha1.ClusterStatus) migrate.Member {
	m := migrate.Member{
		Cluster: c.Name, ID: c.ID, Wave: c.Wave, State: transition.State(c.State), Stage: c.Stage, Since: ptr.Deref(c.Since, metav1.Time{}).Time,
		RolledBack: c.RolledBack, Watched: migrate.Owned{Two: c.TwoOwnersSeconds},
	}
	if c.NoOwnerSeconds != nil {
		m.Switch = &migrate.Owned{None: *c.NoOwnerSeconds}
	}
	m.Findings = lists.Map(c.Findings, func(rule string) transform.Finding { return transform.Finding{Rule: rule} })
	switch {
	case c.Reason != "":
		m.Err = &skipped{c.Reason, c.Message}
	case m.State == transition.Failed || m.State == transition.Reverting:
		m.Err = errors.New(c.Message)
	default:
		m.Waiting = c.Message
	}
	return m
}

// etcd accepts an object of 1.5 MiB. The messages of all clusters share a part of it: the rest of a cluster is small.
const (
	mostOfObject   = 1536 * 1024 * 95 / 100 // bytes: the server keeps more of a change
	mostOfMessages = 600_000                // of all clusters
	mostOfMessage  = 1000                   // of one
	mostOfCluster  = 600                    // of one, without its names and its message
	mostOfWave     = 250                    // of one, without its name
	mostFindings   = 5
)

// tooLarge fails if the object could become larger than etcd accepts, however the runs of its clusters end: then nothing
// would remember how far they are.
func tooLarge(lm *v1alpha1.LeaderMigration, list []transition.Wave) error {
	text, _ := json.Marshal(lm) // it came as JSON
	clusters, size := 0, len(text)+8*mostOfCondition
	for _, w := range list {
		clusters += len(w.Clusters)
		size += len(w.Name) + mostOfWave
		for _, c := range w.Clusters {
			size += len(c) + len(w.Name) + mostOfCluster
		}
	}
	if size += clusters * messageOf(clusters); size > mostOfObject {
		return fmt.Errorf("the LeaderMigration would have up to %d bytes with its %d clusters, and etcd accepts %d; select fewer clusters in each of several LeaderMigrations", size, clusters, mostOfObject)
	}
	return nil
}

// messageOf is the room for the message of a cluster.
func messageOf(clusters int) int { return min(mostOfMessage, mostOfMessages/max(clusters, 1)) }

// clusterOf is how far a cluster is. No secret is in it. Its message has as many bytes at most.
func clusterOf(m migrate.Member, most int) v1alpha1.ClusterStatus {
	c := v1alpha1.ClusterStatus{
		Name: m.Cluster, ID: m.ID, Wave: m.Wave, State: string(m.State), Stage: m.Stage, Reason: skippedFor(m), Message: redact.Text(m.Waiting),
		TwoOwnersSeconds: m.Watched.Two, RolledBack: m.RolledBack,
	}
	if !m.Since.IsZero() {
		c.Since = new(metav1.NewTime(m.Since))
	}
	if m.Switch != nil {
		c.NoOwnerSeconds = &m.Switch.None
	}
	if m.Err != nil {
		c.Message = redact.Text(m.Err.Error())
	}
	c.Message = shortened(c.Message, most)
	rules := lists.Distinct(lists.Found(m.Findings, func(f transform.Finding) (string, bool) { return f.Rule, f.Rule != "" }))
	c.Findings = rules[:min(len(rules), mostFindings)]
	return c
}

// count adds a cluster to counts.
func count(n *v1alpha1.Counts, s transition.State) {
	n.Total++
	switch {
	case s.Busy():
		n.Running++
	case s == transition.Done:
		n.Done++
	case s == transition.Failed:
		n.Failed++
	case s == transition.Skipped:
		n.Skipped++
	default:
		n.Waiting++
	}
}

// status is that of the LeaderMigration now.
func (w *work) status() v1alpha1.LeaderMigrationStatus {
	s := v1alpha1.LeaderMigrationStatus{ObservedGeneration: w.lm.Generation, ObservedRetry: w.retried, SpecDigest: w.digest, Approval: w.approval}
	seen := migrate.Progress(w.members)
	for _, wave := range w.waves {
		one := v1alpha1.WaveStatus{Name: wave.Name}
		for _, c := range wave.Clusters {
			count(&one.Counts, seen[c].State)
			count(&s.Counts, seen[c].State)
		}
		if end := transition.Ended(wave, seen); !end.IsZero() {
			one.Ended = new(metav1.NewTime(end))
		}
		if s.Wave == "" && one.Counts.Waiting+one.Counts.Running > 0 {
			s.Wave = wave.Name
		}
		s.Waves = append(s.Waves, one)
	}
	s.Clusters = lists.Map(w.members, func(m migrate.Member) v1alpha1.ClusterStatus { return clusterOf(m, messageOf(len(w.members))) })
	w.assess(s.Counts)
	s.Conditions = slices.Clone(w.conditions)
	return s
}

// assess sets the conditions.
func (w *work) assess(n v1alpha1.Counts) {
	over, failed := false, false
	if len(w.members) > 0 {
		over, failed = transition.Result(w.waves, migrate.Progress(w.members), limitsOf(w.lm.Spec))
	}
	sum := fmt.Sprintf("%d of %d clusters are done, %d failed, %d are skipped", n.Done, n.Total, n.Failed, n.Skipped)
	w.condition(v1alpha1.Complete, over, either(over, complete, progressing), sum)
	why, text := either(failed, tooManyFailed, none), sum
	if w.problem.fails() {
		failed, why, text = true, w.problem.reason, redact.Text(w.problem.err.Error())
	}
	w.condition(v1alpha1.Failed, failed, why, text)
	w.assessWaiting(over, failed)
	w.skipped(v1alpha1.ManagedElsewhere, "another program manages these clusters, and the ConfigMaps with the label "+migrationLabel+"="+w.lm.Name+" have the next change of each: ")
	w.skipped(v1alpha1.NeedsValues, "the releases of these clusters have values of their own, which a run would replace; run rke-lm migrate with --ccm-values on each: ")
	w.skipped(v1alpha1.NeedsHelm, "these clusters require helm, which the controller does not have: ")
}

// assessWaiting sets the condition that shows why nothing starts.
func (w *work) assessWaiting(over, failed bool) {
	wait := w.turn.Wait
	switch {
	case w.problem != nil:
		w.condition(v1alpha1.Waiting, true, w.problem.reason, redact.Text(w.problem.err.Error()))
	case over:
		w.condition(v1alpha1.Waiting, false, complete, "")
	case w.turn.Stopped:
		w.condition(v1alpha1.Waiting, true, tooManyFailed, "more clusters failed than spec.maxFailures; correct them, and set the annotation "+v1alpha1.RetryAnnotation+" to a new value, or increase spec.maxFailures")
	case failed:
		w.condition(v1alpha1.Waiting, false, tooManyFailed, "")
	case wait != nil:
		w.condition(v1alpha1.Waiting, true, wait.Reason, explained(*wait))
	default:
		w.condition(v1alpha1.Waiting, false, progressing, "")
	}
}

// explained is what a start waits for.
func explained(w transition.Wait) string {
	until := w.Until.UTC().Format(time.RFC3339)
	switch w.Reason {
	case transition.Paused:
		return "spec.pause is true"
	case transition.WindowClosed:
		return "the window opens at " + until
	case transition.Soaking:
		return "the wave " + w.Wave + " starts at " + until
	case transition.ApprovalRequired:
		what := "the wave " + w.Wave
		if w.Stage != "" {
			what = "the stage " + w.Stage + " of " + what
		}
		return what + " requires a LeaderMigrationApproval that is newer than the LeaderMigration"
	}
	return ""
}

// skipped sets the condition about clusters that are skipped for a reason.
func (w *work) skipped(condition, text string) {
	names := lists.Found(w.members, func(m migrate.Member) (string, bool) { return m.Cluster, skippedFor(m) == condition })
	if len(names) == 0 {
		w.condition(condition, false, none, "")
		return
	}
	w.condition(condition, true, transition.Reason(condition), text+strings.Join(names, ", "))
}

// mostOfCondition is what is kept of a condition's message, which can have 32768 characters.
const mostOfCondition = 8000

// shortened keeps a text to a number of bytes in JSON, where some characters have six.
func shortened(text string, most int) string {
	for {
		text = strings.ToValidUTF8(text[:min(len(text), most)], "")
		quoted, _ := json.Marshal(text) // a string cannot fail
		over := len(quoted) - len(`""`) - most
		if over <= 0 {
			return text
		}
		text = text[:len(text)-max(over/len(`\u003c`), 1)]
	}
}

func (w *work) condition(kind string, holds bool, reason transition.Reason, message string) {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: string(cmp.Or(reason, none)), Message: shortened(message, mostOfCondition), ObservedGeneration: w.lm.Generation}
	if holds {
		c.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&w.conditions, c)
}

func either(is bool, yes, no transition.Reason) transition.Reason {
	if is {
		return yes
	}
	return no
}

// publishTime lies between two writes of a status, and a fraction of it for each cluster: the
// status of many clusters is large.
const publishTime = time.Second

// publish writes the status whenever it has changed, until the context ends.
func (w *work) publish(ctx context.Context, runs Runs) {
	for {
		select {
		case <-w.dirty:
		case <-ctx.Done():
			return
		}
		w.reconsider(ctx, runs)
		w.explain(ctx, runs)
		w.write(ctx)
		if !kube.Pause(ctx, publishTime+publishTime*time.Duration(len(w.members))/100) {
			return
		}
	}
}

// write writes the status, and the Events of what has happened since it was written last. A
// status that cannot be written is written the next time.
func (w *work) write(ctx context.Context) {
	status, events, lm := w.report()
	if err := w.writeStatus(ctx, lm, status); err != nil && ctx.Err() == nil {
		w.Log(w.name() + ": the status is not written: " + err.Error())
		w.mark()
	}
	for _, e := range events { // for people: nothing depends on them
		e.InvolvedObject = corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.MigrationKind, Namespace: lm.Namespace, Name: lm.Name, UID: lm.UID}
		if err := w.Client.CreateEvent(ctx, uuid.NewString(), e); err != nil && ctx.Err() == nil {
			w.Log(w.name() + ": an Event is not written: " + err.Error())
		}
	}
}

// report is what is to be written; the Events once.
func (w *work) report() (s v1alpha1.LeaderMigrationStatus, events []corev1.Event, lm *v1alpha1.LeaderMigration) {
	w.mu.Lock()
	defer w.mu.Unlock() // also after a fault
	s, events = w.status(), w.happened
	w.happened = nil
	return s, events, w.lm
}

// writeStatus replaces the status of the object with this UID, except for clusters where none are known: they could not
// be read, or there are none.
func (w *work) writeStatus(ctx context.Context, lm *v1alpha1.LeaderMigration, s v1alpha1.LeaderMigrationStatus) error {
	fields := map[string]any{"wave": nil}
	text, _ := json.Marshal(s) // a type of the API cannot fail
	_ = json.Unmarshal(text, &fields)
	body := map[string]any{"metadata": map[string]any{"uid": lm.UID}, "status": fields}
	path := kube.Path(v1alpha1.GroupVersion.String(), v1alpha1.MigrationResource, lm.Namespace, lm.Name)
	_, err := w.Client.Do(ctx, kube.Request{What: "patch leadermigrations/status.rke-lm.io", Method: http.MethodPatch, Path: path + "/status", Body: body, ContentType: "application/merge-patch+json"})
	return err
}

// reasons are what Events call the states that clusters come to.
var reasons = map[transition.State]string{
	transition.Waiting: "ClusterRetried", transition.Running: "ClusterStarted", transition.Skipped: "ClusterSkipped", transition.Gated: "ClusterHeld",
	transition.Done: "ClusterDone", transition.Failed: "ClusterFailed", transition.Reverting: "ClusterReverting",
}

// eventOf is the Event of a cluster that has come to another state.
func eventOf(m migrate.Member) corev1.Event {
	e := corev1.Event{
		Reason: reasons[m.State], Message: "cluster " + m.Cluster + " of the wave " + m.Wave, Type: corev1.EventTypeNormal,
		ReportingController: "rke-lm.io/controller", FirstTimestamp: metav1.Now(),
	}
	if m.State == transition.Failed || m.State == transition.Reverting {
		e.Type = corev1.EventTypeWarning
	}
	if m.RolledBack {
		e.Reason = "ClusterRolledBack"
	}
	switch {
	case m.State == transition.Gated:
		e.Message += ": " + m.Waiting
	case m.Err != nil:
		e.Message += ": " + m.Err.Error()
	}
	e.Message = redact.Text(e.Message)
	return e
}
