// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/config"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// year is the longest of durations: older API servers do not check the rules of the definition.
const year = 366 * 24 * time.Hour

// policyOf is how a LeaderMigration decides what is next, where something requires an approval.
func policyOf(lm *v1alpha1.LeaderMigration, need string, approvals []v1alpha1.LeaderMigrationApproval) (transition.Policy, error) {
	spec := lm.Spec
	p := transition.Policy{
		Limits: limitsOf(spec), Pause: spec.Pause, Stages: need == v1alpha1.ApprovalStage, Starts: need == v1alpha1.ApprovalWave,
		Waves: map[string]transition.Pace{},
	}
	for _, w := range spec.Waves {
		pace := transition.Pace{Manual: w.After == v1alpha1.AfterManual, Soak: ptr.Deref(w.Soak, metav1.Duration{}).Duration}
		if pace.Soak > year {
			return p, fmt.Errorf("spec.waves: the soak of %s is longer than a year; shorten it", w.Name)
		}
		p.Waves[w.Name] = pace
	}
	if spec.Timeout != nil && spec.Timeout.Duration > year {
		return p, errors.New("spec.timeout: longer than a year; shorten it")
	}
	p.Approvals = lists.Map(approving(lm, approvals), func(a v1alpha1.LeaderMigrationApprovalSpec) transition.Approval {
		return transition.Approval{Wave: a.Wave, Stage: a.Stage}
	})
	if spec.Window == nil {
		return p, nil
	}
	zone, err := time.LoadLocation(spec.Window.TimeZone)
	if err != nil {
		return p, fmt.Errorf("spec.window.timeZone: %w; use a name of the IANA database, such as Europe/Berlin", err)
	}
	if p.Window, err = transition.NewWindow(spec.Window.Days, spec.Window.From, spec.Window.To, zone); err != nil {
		return p, fmt.Errorf("spec.window: %w", err)
	}
	return p, nil
}

// approving are the approvals of a LeaderMigration. One of the same second can be of a LeaderMigration with that name that was deleted.
func approving(lm *v1alpha1.LeaderMigration, approvals []v1alpha1.LeaderMigrationApproval) []v1alpha1.LeaderMigrationApprovalSpec {
	return lists.Found(approvals, func(a v1alpha1.LeaderMigrationApproval) (v1alpha1.LeaderMigrationApprovalSpec, bool) {
		return a.Spec, lm.CreationTimestamp.Before(&a.CreationTimestamp)
	})
}

func limitsOf(spec v1alpha1.LeaderMigrationSpec) transition.Limits {
	return transition.Limits{Unavailable: spec.MaxUnavailable, Failures: spec.MaxFailures}
}

// rulesOf are the waves of a LeaderMigration over these clusters.
func rulesOf(spec v1alpha1.LeaderMigrationSpec, of map[string]rancher.Object) ([]transition.Rule, error) {
	var list []transition.Rule
	for _, w := range spec.Waves {
		r := transition.Rule{Name: w.Name, Size: w.Size, Percent: w.Percent}
		if w.Size > 0 && w.Percent > 0 || w.Selector != nil && w.Size+w.Percent > 0 {
			return nil, fmt.Errorf("spec.waves: %s has more than one of selector, size and percent; remove the others", w.Name)
		}
		if w.Selector != nil {
			s, err := metav1.LabelSelectorAsSelector(w.Selector)
			if err != nil {
				return nil, fmt.Errorf("spec.waves: the selector of %s: %w", w.Name, err)
			}
			r.Matches = func(cluster string) bool { return s.Matches(labels.Set(of[cluster].Labels)) }
		}
		list = append(list, r)
	}
	return list, nil
}

// CheckAccept refuses the acceptance that the controller never gives.
func CheckAccept(accepted []string) error {
	if slices.Contains(accepted, rollout.ManagedElsewhere) {
		return fmt.Errorf("spec.options.accept: the controller never changes a cluster that another program manages; remove %s", rollout.ManagedElsewhere)
	}
	return nil
}

// decoded reads a LeaderMigration. One that is not valid has what identifies it, and of specification and
// status the one that is.
func decoded(raw []byte) (*v1alpha1.LeaderMigration, error) {
	var parts struct {
		Metadata     metav1.ObjectMeta
		Spec, Status json.RawMessage
	}
	err := json.Unmarshal(raw, &parts)
	lm := &v1alpha1.LeaderMigration{ObjectMeta: parts.Metadata}
	if wrong := part(parts.Spec, &lm.Spec); wrong != nil {
		err = errors.Join(err, fmt.Errorf("spec: %w; correct the value", wrong))
	}
	if wrong := part(parts.Status, &lm.Status); wrong != nil {
		err = errors.Join(err, fmt.Errorf("status: %w; delete the LeaderMigration, and create another one", wrong))
	}
	return lm, err
}

// part reads all of a part of an object, or nothing.
func part[T any](raw json.RawMessage, into *T) (err error) {
	if len(raw) > 0 {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		*into = *new(T)
	}
	return err
}

// digestOf identifies what cannot be changed of a specification: API servers below 1.25 do not prevent it.
func digestOf(s v1alpha1.LeaderMigrationSpec) string {
	s.Timeout, s.Pause, s.MaxUnavailable, s.MaxFailures, s.Window, s.Approval, s.RollbackOnFailure = nil, false, 0, 0, nil, "", false
	text, _ := json.Marshal(s) // its options came as JSON
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// List returns the LeaderMigrations of Rancher's own cluster, in all namespaces; none where
// their definition is not installed.
func List(ctx context.Context, c *kube.Client) ([]v1alpha1.LeaderMigration, error) {
	r := kube.Resource{Version: v1alpha1.GroupVersion.String(), Name: v1alpha1.MigrationResource, Kind: v1alpha1.MigrationKind + "List", Optional: true}
	list, err := kube.CollectAs(ctx, c, r, func(raw []byte) (v1alpha1.LeaderMigration, error) {
		lm, bad := decoded(raw)
		if bad != nil {
			lm.Status.Conditions = append(lm.Status.Conditions, metav1.Condition{Type: v1alpha1.Failed, Status: metav1.ConditionTrue, Reason: string(invalidSpec), Message: redact.Text(bad.Error())})
		}
		return *lm, nil
	})
	switch {
	case kube.HasStatus(err, http.StatusNotFound):
		return nil, nil
	case kube.HasStatus(err, http.StatusForbidden):
		// A user without the permission is refused also where there is no definition; this one every user can get.
		_, known := c.Do(ctx, kube.Request{What: "get the resources of " + v1alpha1.GroupVersion.Group, Method: http.MethodGet, Path: "/apis/" + r.Version, Optional: true})
		if kube.HasStatus(known, http.StatusNotFound) {
			return nil, nil
		}
	}
	return list, err
}

// Policy is what the operator of the controller permits, whatever a LeaderMigration chooses. It is a file of the
// process, which creators of LeaderMigrations cannot write, and it is read again whenever it is asked.
type Policy struct{ lists map[string][]string } // by their keys; any value is permitted without a list

// The keys of a policy.
const (
	namespaces        = "namespaces"
	chartRepositories = "chart-repositories"
	imageRepositories = "image-repositories"
	optionNames       = "options"
	leastApproval     = "approval"
)

// NotPermitted means that the policy does not permit what a LeaderMigration chooses.
type NotPermitted struct{ text string }

func (n *NotPermitted) Error() string { return n.text }

// ReadPolicy reads a policy; "" is the one without a file: what the published chart installs. One that cannot be read
// permits nothing.
func ReadPolicy(file string) (Policy, error) {
	p := Policy{map[string][]string{chartRepositories: {aws.ChartRepository}, imageRepositories: {}, leastApproval: {v1alpha1.ApprovalNone}}}
	if file == "" {
		return p, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return p, &NotPermitted{"--policy: " + err.Error() + "; check the path and its permissions"}
	}
	settings, err := config.Parse(file, text, map[string]config.Kind{
		namespaces: config.List, chartRepositories: config.List, imageRepositories: config.List, optionNames: config.List, leastApproval: config.Text,
	})
	if err != nil {
		return p, &NotPermitted{"--policy: " + err.Error()}
	}
	for _, s := range settings {
		p.lists[s.Key] = s.Values
	}
	if least := p.lists[leastApproval][0]; !slices.Contains(strictness, least) {
		return p, &NotPermitted{fmt.Sprintf("--policy: %s: approval %q is not one of %s", file, least, strings.Join(strictness, ", "))}
	}
	return p, nil
}

// strictness is what can require a LeaderMigrationApproval, the strictest last.
var strictness = []string{v1alpha1.ApprovalNone, v1alpha1.ApprovalWave, v1alpha1.ApprovalStage}

// stricter is the stricter one of two.
func stricter(a, b string) string {
	return strictness[max(slices.Index(strictness, a), slices.Index(strictness, b), 0)]
}

// Check fails with *NotPermitted where the policy does not permit a choice, the names of options that are set, or
// a cluster, by the namespace of what belongs to it; "" for none.
func (p Policy) Check(t transform.Target, options []string, home string) error {
	type choice struct{ key, value string }
	all := []choice{{namespaces, home}, {chartRepositories, cmp.Or(t.ChartRepo, aws.ChartRepository)}, {imageRepositories, t.ImageRepository}}
	for _, c := range append(all, lists.Map(options, func(name string) choice { return choice{optionNames, name} })...) {
		list, limited := p.lists[c.key]
		same := func(permitted string) bool {
			return strings.TrimSuffix(permitted, "/") == strings.TrimSuffix(c.value, "/")
		}
		if limited && c.value != "" && !slices.ContainsFunc(list, same) {
			return &NotPermitted{fmt.Sprintf("the policy of the controller does not permit %s: %s has %d others; choose one of them, or ask the operator of the controller", c.value, c.key, len(list))}
		}
	}
	return nil
}
