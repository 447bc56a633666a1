// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rancher/wrangler/v3/pkg/name"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/redact"
)

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

// migrationLabel names the LeaderMigration of a ConfigMap.
const migrationLabel = "rke-lm.io/leadermigration"

// explain writes, for each cluster that another program manages and that has changed, a ConfigMap with the
// next change and the command that makes it where the source is, and deletes that of a cluster which no
// other program manages any more. The cluster is not changed.
func (w *work) explain(ctx context.Context, runs Runs) {
	w.mu.Lock()
	lm, list := w.lm, lists.Where(w.members, func(m migrate.Member) bool { return w.stale[m.Cluster] })
	clear(w.stale)
	w.mu.Unlock()
	for _, m := range list {
		if ctx.Err() != nil {
			return
		}
		w.alive(true)
		if !isElsewhere(m) {
			w.drop(ctx, lm, m.Cluster)
			continue
		}
		err := transform.Guard(m.Cluster, func() error {
			data, err := nextChange(ctx, runs, m)
			if err != nil {
				return err
			}
			return w.keep(ctx, lm, m.Cluster, data)
		})
		if err != nil {
			w.Log(w.name() + ": " + m.Cluster + ": the ConfigMap with the next change is not written: " + err.Error())
		}
	}
}

// drop deletes the ConfigMap of a cluster that no other program manages any more. If it cannot be deleted now it is, the
// next time.
func (w *work) drop(ctx context.Context, lm *v1alpha1.LeaderMigration, cluster string) {
	_, err := w.Client.Do(ctx, kube.Request{What: "delete configmaps", Method: http.MethodDelete, Path: changePath(lm, cluster)})
	if err == nil || kube.HasStatus(err, http.StatusNotFound) {
		return
	}
	w.mu.Lock()
	w.stale[cluster] = true
	w.mu.Unlock()
	w.Log(w.name() + ": " + cluster + ": the ConfigMap with the next change is not deleted: " + err.Error())
}

// nextChange is the next stage of a cluster, without secrets.
func nextChange(ctx context.Context, runs Runs, m migrate.Member) (map[string]string, error) {
	data := map[string]string{"cluster": m.Cluster, "reason": m.Err.Error()}
	found, err := runs.Find(ctx, rancher.Query{Name: m.Cluster})
	if err != nil {
		return nil, err
	}
	p, err := runs.Plan(ctx, found[0])
	if err != nil {
		return nil, err
	}
	for _, s := range report.NewPlan(p, "", false).Stages { // the first edit: the next stage may be one that someone does by hand
		if s.State == plan.Todo || s.State == plan.Blocked {
			data["stage"], data["why"], data["diff"], data["command"] = s.Name, s.Why, s.Diff, runs.Command(s.Name)
			if s.State == plan.Blocked {
				data["blocked"] = s.Findings[0].Rule + ": " + s.Findings[0].Message
			}
			return data, nil
		}
	}
	data["stage"] = "none is left to do"
	return data, nil
}

// changeName is the name of the ConfigMap of a cluster.
func changeName(lm *v1alpha1.LeaderMigration, cluster string) string {
	return name.SafeConcatName(lm.Name + "." + strings.ReplaceAll(cluster, "/", "."))
}

func changePath(lm *v1alpha1.LeaderMigration, cluster string) string {
	return kube.Path("v1", "configmaps", lm.Namespace, changeName(lm, cluster))
}

// keep applies a ConfigMap that belongs to the LeaderMigration.
func (w *work) keep(ctx context.Context, lm *v1alpha1.LeaderMigration, cluster string, data map[string]string) error {
	m := corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: lm.Namespace, Name: changeName(lm, cluster), Labels: map[string]string{migrationLabel: name.SafeConcatName(lm.Name)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.MigrationKind, Name: lm.Name, UID: lm.UID}},
		},
		Data: data,
	}
	_, err := w.Client.Do(ctx, kube.Request{
		What: "patch configmaps", Method: http.MethodPatch, Path: changePath(lm, cluster),
		Query: url.Values{"fieldManager": {kube.Program}, "force": {"true"}}, Body: m, ContentType: "application/apply-patch+yaml",
	})
	return err
}
