// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// assess sets the conditions.
func (w *work) assess(n v1alpha1.Counts) {
	out := transition.Outcome{}
	if len(w.members) > 0 {
		out = transition.Result(w.waves, migrate.Progress(w.members), limitsOf(w.lm.Spec))
	}
	sum := fmt.Sprintf("%d of %d clusters are done, %d failed, %d are skipped", n.Done, n.Total, n.Failed, n.Skipped)
	w.condition(v1alpha1.Complete, out.Complete, either(out.Complete, complete, progressing), sum)
	failed, why, text := out.Failed, either(out.Failed, tooManyFailed, none), sum
	if w.problem.fails() {
		failed, why, text = true, w.problem.reason, redact.Text(w.problem.err.Error())
	}
	w.condition(v1alpha1.Failed, failed, why, text)
	w.assessWaiting(out)
	w.skipped(v1alpha1.ManagedElsewhere, "another program manages these clusters, and the ConfigMaps with the label "+migrationLabel+"="+w.lm.Name+" have the next change of each: ")
	w.skipped(v1alpha1.NeedsValues, "the releases of these clusters have values of their own, which a run would replace; run rke-lm migrate with --ccm-values on each: ")
	w.skipped(v1alpha1.NeedsHelm, "these clusters require helm, which the controller does not have: ")
}

// assessWaiting sets the condition that shows why nothing starts.
func (w *work) assessWaiting(out transition.Outcome) {
	wait := w.turn.Wait
	switch {
	case w.problem != nil:
		w.condition(v1alpha1.Waiting, true, w.problem.reason, redact.Text(w.problem.err.Error()))
	case out.Complete:
		w.condition(v1alpha1.Waiting, false, complete, "")
	case w.turn.Stopped:
		w.condition(v1alpha1.Waiting, true, tooManyFailed, "more clusters failed than spec.maxFailures; correct them, and set the annotation "+v1alpha1.RetryAnnotation+" to a new value, or increase spec.maxFailures")
	case out.Failed:
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
	found := lists.Where(w.members, func(m migrate.Member) bool { return skippedFor(m) == condition })
	if len(found) == 0 {
		w.condition(condition, false, none, "")
		return
	}
	names := lists.Map(found, func(m migrate.Member) string { return m.Cluster })
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
