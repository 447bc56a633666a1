// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

// usualPods selects managers that no workload makes: mirrors of static pods.
var usualPods = []string{
	"component in (" + observed.KubeManager + "," + observed.CloudManager + ")",
	"k8s-app in (" + observed.KubeManager + "," + observed.CloudManager + "," + aws.Manager + ")",
}

// readManagers reads the managers, and then asks the authorizer what their identities may do with their leases. A create
// has no name yet.
func (o *Observer) readManagers(ctx context.Context, out *observed.Observation) error {
	if err := o.Managers(ctx, out); err != nil {
		return err
	}
	out.Reviews = check.Questions(out.Managers)
	return kube.ForEach(len(out.Reviews), func(i int) error {
		asked := &out.Reviews[i]
		about := &authorizationv1.ResourceAttributes{Namespace: managersNamespace, Group: "coordination.k8s.io", Resource: "leases", Verb: asked.Verb, Name: asked.Lease}
		if asked.Verb == "create" {
			about.Name = ""
		}
		review := authorizationv1.SubjectAccessReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
			Spec:     authorizationv1.SubjectAccessReviewSpec{User: asked.User, Groups: leadermigration.Groups(asked.User), ResourceAttributes: about},
		}
		r := kube.Request{What: "create subjectaccessreviews.authorization.k8s.io", Method: http.MethodPost, Path: "/apis/authorization.k8s.io/v1/subjectaccessreviews", Body: review}
		answer, err := kube.Get[authorizationv1.SubjectAccessReview](ctx, o.Client, r, "SubjectAccessReview")
		asked.Allowed = err == nil && answer.Status.Allowed
		return err
	})
}

// Managers looks at the pods of both managers in all namespaces, found by the
// workloads that make them and by their usual labels: there are thousands of others.
func (o *Observer) Managers(ctx context.Context, out *observed.Observation) error {
	var sets, deployments []workload
	var errs [2]error
	var both sync.WaitGroup
	both.Go(func() { sets, errs[0] = everywhere(ctx, o, daemonSets.Resource, keepDaemonSetPods) })
	both.Go(func() {
		deployments, errs[1] = everywhere(ctx, o, kube.Resource{Version: "apps/v1", Name: "deployments", Kind: "DeploymentList"}, keepDeploymentPods)
	})
	both.Wait()
	if err := kube.Joined(errs[:]); err != nil {
		return err
	}
	out.DaemonSets = append([]observed.DaemonSet{}, lists.Map(sets, func(w workload) observed.DaemonSet { return *w.daemonSet })...)
	chosen := choices(append(sets, deployments...))
	found := make([][]observed.Manager, len(chosen))
	if err := kube.ForEach(len(chosen), func(i int) (err error) { found[i], err = o.podsWith(ctx, chosen[i]); return err }); err != nil {
		return err
	}
	out.Managers = append([]observed.Manager{}, slices.Concat(found...)...) // one that several choose is there several times
	slices.SortFunc(out.Managers, func(a, b observed.Manager) int { return strings.Compare(a.Path(), b.Path()) })
	out.Managers = slices.CompactFunc(out.Managers, func(a, b observed.Manager) bool { return a.Path() == b.Path() })
	out.KubeSystemOnly = false
	o.narrow.Range(func(any, any) bool { out.KubeSystemOnly = true; return false })
	return nil
}

// choices are pods with the usual labels in all namespaces, and with those of each workload in its own.
func choices(workloads []workload) []kube.Resource {
	list := lists.Map(usualPods, func(selector string) kube.Resource { return podsBy("", selector) })
	for _, w := range workloads {
		if w.selector != nil {
			list = append(list, podsBy(w.namespace, metav1.FormatLabelSelector(w.selector)))
		}
	}
	return lists.Distinct(list)
}

func podsBy(namespace, selector string) kube.Resource {
	r := pods.In(namespace)
	r.Options.LabelSelector = selector
	return r
}

// podsWith returns the managers among the pods of a choice.
func (o *Observer) podsWith(ctx context.Context, r kube.Resource) ([]observed.Manager, error) {
	var failed error
	find := func(namespace, name string) configMap {
		m, err := o.configMap(ctx, namespace, name)
		failed = cmp.Or(failed, err)
		return m
	}
	keep := func(p *corev1.Pod, kept []observed.Manager) []observed.Manager {
		if m, is := keepManager(p, find); is {
			kept = append(kept, m)
		}
		return kept
	}
	if r.Namespace != "" {
		reviewed, _ := o.narrow.Load(r.Name)
		r.Optional = reviewed == true
		managers, err := kube.Collect(ctx, o.Client, r, keep)
		if r.Namespace != managersNamespace && kube.HasStatus(err, http.StatusForbidden) {
			o.narrow.LoadOrStore(r.Name, false)
			return nil, nil
		}
		return managers, kube.Joined([]error{err, failed})
	}
	managers, err := everywhere(ctx, o, r, keep)
	return managers, kube.Joined([]error{err, failed})
}

// configMap reads the text of a ConfigMap; one that is not there has none. In
// kube-system it has to be readable.
func (o *Observer) configMap(ctx context.Context, namespace, name string) (configMap, error) {
	m, err := o.getConfigMap(ctx, namespace, name)
	if namespace != managersNamespace && kube.HasStatus(err, http.StatusForbidden) {
		return configMap{denied: true}, nil
	}
	if err != nil || m == nil {
		return configMap{}, err
	}
	return configMap{data: m.Data}, nil
}

// getConfigMap returns nil for a ConfigMap that is not there.
func (o *Observer) getConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	r := kube.Request{What: "get configmaps in " + namespace, Method: http.MethodGet, Path: kube.Path("v1", "configmaps", namespace, name), Optional: namespace != managersNamespace}
	return kube.Found(kube.Get[corev1.ConfigMap](ctx, o.Client, r, "ConfigMap"))
}

// everywhere lists what lies in all namespaces, or in kube-system where no more is
// allowed. A denial is remembered until the next observation of everything.
func everywhere[T, O any](ctx context.Context, o *Observer, r kube.Resource, keep func(*O, []T) []T) ([]T, error) {
	if _, alone := o.narrow.Load(r.Name); !alone {
		found, err := kube.Collect(ctx, o.Client, r, keep)
		if !kube.HasStatus(err, http.StatusForbidden) {
			return found, err
		}
		o.narrow.LoadOrStore(r.Name, false)
	}
	return kube.Collect(ctx, o.Client, r.In(managersNamespace), keep)
}

// KubeSystemAlone reports that a resource may be listed in kube-system alone, so that no
// look requests more: where the rights were reviewed a denial is tried again.
func (o *Observer) KubeSystemAlone(resource string) { o.narrow.Store(resource, true) }

// Owners follows, from observation to observation, who owns the cloud controllers of a cluster.
type Owners struct {
	*Observer
	// Given reads the arguments that a kube-controller-manager may have that is no pod;
	// nil where it is one.
	Given func(context.Context, []observed.Manager) ([]check.Given, error)

	Timeline check.Timeline
	Seen     time.Time // when the last observation had its answer; zero before the first
	Narrow   bool      // managers outside of kube-system are not seen

	managers []observed.Manager
	given    []check.Given
	readAt   time.Time // when the managers were requested
}

const (
	managersLast = 2 * time.Second // how long the arguments of the managers count
	readTimeout  = 4 * time.Second // so that a cut does not hang
	tailTime     = 2 * time.Second // from the last read to the end, at most
)

// Observe reads once, and returns the intervals that this completes.
func (w *Owners) Observe(ctx context.Context) ([]check.Interval, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	asked := time.Now()
	if asked.Sub(w.readAt) > managersLast {
		if err := w.read(ctx); err != nil {
			return nil, kube.Refusal(err)
		}
		w.readAt = asked
		asked = time.Now()
	}
	var o observed.Observation
	if err := w.Leases(ctx, &o); err != nil {
		return nil, kube.Refusal(err)
	}
	w.Seen = time.Now()
	return w.Timeline.Add(check.Sample{Asked: asked, At: w.Seen, Leases: o.Leases, Managers: w.managers, Given: w.given}), nil
}

// read reads the managers, and what one of them was given.
func (w *Owners) read(ctx context.Context) error {
	var o observed.Observation
	err := w.Managers(ctx, &o)
	if err != nil {
		return err
	}
	w.Narrow, w.managers = o.KubeSystemOnly, o.Managers
	if w.Given != nil {
		w.given, err = w.Given(ctx, o.Managers)
	}
	return err
}

// End closes the timeline. After an observation that failed, or that hangs, nothing is known.
func (w *Owners) End(now time.Time, lost bool) []check.Interval {
	if lost || now.Sub(w.Seen) > tailTime {
		return w.Timeline.Lost(now)
	}
	return w.Timeline.End(now)
}

// Another is an observer of the same cluster with a memory of its own for leases: two can
// look at the same time.
func (o *Observer) Another() *Observer {
	other := &Observer{Client: o.Client}
	o.narrow.Range(func(name, reviewed any) bool { other.narrow.Store(name, reviewed); return true })
	return other
}
