// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/rancher/wrangler/v3/pkg/name"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// skipped is why a cluster is skipped, with the condition that lists such clusters.
type skipped struct{ condition, message string }

func (s *skipped) Error() string { return s.message }

// skippedFor is why a cluster is skipped, as a condition names it; "" for one that is not.
func skippedFor(m migrate.Member) string {
	why := (*skipped)(nil)
	switch {
	case m.State != transition.Skipped:
	case errors.As(m.Err, &why):
		return why.condition
	case migrate.NeedsValues(m.Err):
		return v1alpha1.NeedsValues
	}
	return ""
}

func isElsewhere(m migrate.Member) bool { return skippedFor(m) == v1alpha1.ManagedElsewhere }

// selected finds the clusters and puts them into waves. Those that are not to be migrated are
// failed or skipped from the beginning.
func (w *work) selected(ctx context.Context, runs Runs) *problem {
	spec := w.current().Spec
	selector, err := metav1.LabelSelectorAsSelector(&spec.Selector)
	if err != nil {
		return &problem{invalidSpec, fmt.Errorf("spec.selector: %w", err)}
	}
	objects, err := runs.Find(ctx, rancher.Query{Selector: selector.String()})
	if err != nil {
		return &problem{notReady, err}
	}
	of := lists.By(objects, rancher.Object.FullName)
	rules, err := rulesOf(spec, of)
	if err != nil {
		return &problem{invalidSpec, err}
	}
	if len(of) == 0 {
		return &problem{noClusters, errors.New("no cluster has the labels of spec.selector")}
	}
	list := transition.Assign(rules, lists.Keys(of))
	if err := tooLarge(w.current(), list); err != nil {
		return &problem{tooMany, err}
	}
	var members []migrate.Member
	for _, wave := range list {
		for _, name := range wave.Clusters {
			m := migrate.Member{Cluster: name, ID: of[name].ID, Wave: wave.Name}
			members = append(members, w.classified(ctx, m, of[name], runs))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waves, w.members, w.digest = list, members, digestOf(spec)
	w.retried = wishOf(w.lm) // there was nothing to retry
	w.expire()
	return nil
}

// classified is a cluster in the state in which it begins, with why it is not migrated.
func (w *work) classified(ctx context.Context, m migrate.Member, o rancher.Object, runs Runs) migrate.Member {
	w.alive(true)
	m.Err = transform.Guard(o.FullName(), func() error { return refusal(ctx, o, runs) })
	switch {
	case m.Err == nil:
		m.State, m.Since = transition.Waiting, time.Time{}
		return m
	case errors.As(m.Err, new(*skipped)):
		m.State = transition.Skipped
	default:
		m.State = transition.Failed
	}
	m.Since = time.Now().UTC()
	return m
}

// refusal is why a cluster is not migrated, *skipped if it is skipped; nil if it is migrated.
func refusal(ctx context.Context, o rancher.Object, runs Runs) error {
	if err := cmp.Or(managers(o), runs.Permitted(o.Home())); err != nil {
		return err
	}
	p, err := runs.Plan(ctx, o)
	helm := func(n action.Permission) bool { return n.When == action.WithHelm }
	if err != nil || !slices.ContainsFunc(transition.Needs(p), helm) || slices.Contains(p.Target.ManualDone, stages.InstallCCM) {
		return err
	}
	if _, err := exec.LookPath("helm"); err != nil {
		return &skipped{v1alpha1.NeedsHelm, "the chart of an RKE1 cluster is installed with helm, and helm is not on the PATH of the controller; use the image with helm (image.helm of the chart, docs/fleet.md), or rke-lm migrate"}
	}
	return nil
}

// managers says that another program manages a cluster; nil if none does.
func managers(o rancher.Object) error {
	found := rollout.Preconditions(rollout.Change{Title: o.Title(), Object: o.Raw}, nil)
	if f, is := lists.Find(found, func(f transform.Finding) bool { return f.Rule == rollout.ManagedElsewhere }); is {
		return &skipped{v1alpha1.ManagedElsewhere, f.Message}
	}
	return nil
}

// retry is a wish to migrate again the clusters that failed or are skipped, and how they are now.
type retry struct {
	wish    string // the value of the annotation
	members []migrate.Member
}

// mostOfWish is what is kept of an annotation.
const mostOfWish = 100

func wishOf(lm *v1alpha1.LeaderMigration) string {
	return shortened(lm.Annotations[v1alpha1.RetryAnnotation], mostOfWish)
}

// reconsider evaluates the clusters that failed or are skipped again, if a user wishes so and it was not done
// before.
func (w *work) reconsider(ctx context.Context, runs Runs) {
	w.mu.Lock()
	r := &retry{wish: wishOf(w.lm)}
	wished := r.wish != "" && r.wish != w.retried && (w.retry == nil || w.retry.wish != r.wish)
	r.members = lists.Where(w.members, func(m migrate.Member) bool { return m.State == transition.Failed || m.State == transition.Skipped })
	w.mu.Unlock()
	if !wished {
		return
	}
	for i, m := range r.members {
		r.members[i] = w.reconsidered(ctx, runs, m)
	}
	if ctx.Err() != nil {
		return // another process does it
	}
	w.mu.Lock()
	w.retry = r
	w.mu.Unlock()
	w.requeue()
}

// reconsidered is a cluster that begins again, if it can be migrated now. What was measured of it stays.
func (w *work) reconsidered(ctx context.Context, runs Runs, was migrate.Member) migrate.Member {
	m := migrate.Member{Cluster: was.Cluster, ID: was.ID, Wave: was.Wave, Switch: was.Switch, Watched: was.Watched, State: transition.Failed, Since: time.Now().UTC()}
	found, err := runs.Find(ctx, rancher.Query{Name: was.Cluster})
	if m.Err = err; err == nil {
		m = w.classified(ctx, m, found[0], runs)
	}
	return m
}

// again returns the clusters that begin again, once. The status shows them together with the wish, so that
// another process neither forgets one nor begins again with one that failed since.
func (w *work) again() []migrate.Member {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.retry == nil {
		return nil
	}
	now := lists.By(w.retry.members, func(m migrate.Member) string { return m.Cluster })
	for i, m := range w.members {
		if next, is := now[m.Cluster]; is {
			w.members[i] = next
			if isElsewhere(m) && !isElsewhere(next) {
				w.stale[m.Cluster] = true // its ConfigMap is deleted
			}
			w.happened = append(w.happened, eventOf(next))
		}
	}
	list := w.retry.members
	w.retried, w.retry = w.retry.wish, nil
	w.expire()
	w.mark()
	return list
}

// problem is why nothing can be decided.
type problem struct {
	reason transition.Reason
	err    error
}

// fails reports whether the LeaderMigration has failed, and passes whether the problem can pass while it stays as it is.
func (p *problem) fails() bool {
	return p != nil && slices.Contains([]transition.Reason{invalidSpec, notPermitted, tooMany}, p.reason)
}

func (p *problem) passes() bool {
	return p != nil && slices.Contains([]transition.Reason{notPermitted, notReady, fault}, p.reason)
}

// problemOf is why a LeaderMigration is refused; nil without an error.
func problemOf(err error) *problem {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*NotPermitted)):
		return &problem{notPermitted, err}
	}
	return &problem{invalidSpec, err}
}

// The reasons of problems.
const (
	invalidSpec   transition.Reason = "InvalidSpec"
	notPermitted  transition.Reason = "NotPermitted"
	tooMany       transition.Reason = "TooManyClusters"
	noClusters    transition.Reason = "NoClusters"
	notReady      transition.Reason = "RancherNotReady"
	fault         transition.Reason = "InternalError"
	progressing   transition.Reason = "Progressing"
	complete      transition.Reason = "Complete"
	tooManyFailed transition.Reason = "TooManyFailures"
	none          transition.Reason = "None"
)

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
