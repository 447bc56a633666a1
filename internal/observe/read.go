// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package observe looks at a live cluster, or at a dump of one.
//
// Invariant: there is no Observation of a part of a cluster. Only what a decision
// needs is kept of what is read.
package observe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const managersNamespace = leadermigration.Namespace

// Observer looks at one cluster; it remembers how the leases moved.
type Observer struct {
	*kube.Client
	// AllPods also reads the pods of all namespaces, for volumes that they name.
	AllPods bool
	// Before is compared with in place of the snapshot that the cluster keeps.
	Before *observed.Snapshot

	watch      observed.Watch
	replaced   check.Replaced
	narrow     sync.Map // by resources that may be listed in kube-system alone: whether a review said so
	lastEvents serviceEvents
}

// part reads one part of an observation; parts write different fields.
type part func(context.Context, *observed.Observation) error

// moment is the longest time in which managers and leases are seen together. It is
// shorter than a lease, which no manager gives back: who is seen to run
// is who was seen to lead.
const moment = 10 * time.Second

// errSlow keeps a verdict from joining what was true at different times.
var errSlow = errors.New("the responses take too long to describe one moment")

// Observe reads everything. It fails with *Denied and *Unreached; then there is
// nothing to check.
func (o *Observer) Observe(ctx context.Context) (*observed.Observation, error) {
	out := &observed.Observation{APIVersion: observed.APIVersion, Kind: observed.Kind}
	// One request is first: it opens the connection for the others, and a program for
	// credentials that has none is asked once.
	err := together(ctx, out, o.readVersion)
	if err != nil {
		return nil, err
	}
	o.narrow.Range(func(name, _ any) bool { o.narrow.CompareAndDelete(name, false); return true }) // what a request was denied
	start := time.Now()
	err = together(ctx, out, o.Leases, nodes.read(o), o.readServices, o.readVolumes, storageClasses.read(o), drivers.read(o), o.readManagers, o.readRancher, o.readSnapshot)
	if err == nil && time.Since(start) > moment {
		err = o.Again(ctx, out)
	} else if err == nil {
		o.mark(start, out)
	}
	if err != nil {
		return nil, err
	}
	out.Seen = time.Now().UTC()
	return out, nil
}

// together runs parts at the same time and joins their errors.
func together(ctx context.Context, out *observed.Observation, parts ...part) error {
	return kube.ForEach(len(parts), func(i int) error { return parts[i](ctx, out) })
}

// Again looks at the managers and the leases again, until both are of one moment.
func (o *Observer) Again(ctx context.Context, out *observed.Observation) error {
	for range 3 {
		start := time.Now()
		if err := together(ctx, out, o.Managers, o.Leases); err != nil {
			return err
		}
		if o.mark(start, out); time.Since(start) <= moment {
			return nil
		}
	}
	return &kube.Unreached{What: "read the managers and the leases", Err: errSlow}
}

// mark notes whose containers were replaced, once managers and leases are both there.
func (o *Observer) mark(asked time.Time, out *observed.Observation) {
	out.Leases = o.replaced.Observe(asked, time.Now(), check.Processes(out.Managers), out.Leases)
}

// Leases looks at the leases again.
func (o *Observer) Leases(ctx context.Context, out *observed.Observation) error {
	asked, clock := time.Now(), time.Time{} // the newest time that the API server wrote into them
	records, err := kube.Collect(ctx, o.Client, leases.In(managersNamespace), func(l *coordinationv1.Lease, kept []observed.Lease) []observed.Lease {
		clock = slices.MaxFunc([]time.Time{written(&l.ObjectMeta), clock}, time.Time.Compare)
		return keepLease(l, kept)
	})
	if err != nil {
		return err
	}
	out.Seen = time.Now().UTC()
	out.Leases, out.Clock = o.watch.Observe(asked, time.Now(), records), clock
	return nil
}

func (o *Observer) readVolumes(ctx context.Context, out *observed.Observation) error {
	if err := volumes.read(o)(ctx, out); err != nil || !o.AllPods {
		return err
	}
	inline, err := kube.Collect(ctx, o.Client, pods, keepInline)
	out.Volumes = append(out.Volumes, inline...)
	return err
}

// readVersion reads the version, which every user may see.
func (o *Observer) readVersion(ctx context.Context, out *observed.Observation) error {
	read := func(a kube.Answer) error {
		var v version.Info
		if err := json.Unmarshal(a.Body, &v); err != nil || v.GitVersion == "" {
			return errors.New("the response is not a version of Kubernetes")
		}
		out.Version = v.GitVersion
		return nil
	}
	_, err := o.Do(ctx, kube.Request{What: "get the version", Method: http.MethodGet, Path: "/version", Read: read})
	return err
}

// kind is a kind of objects O: where an API server has them, what an observation keeps
// of one, and where. The kinds of a dump are the same.
type kind[O, K any] struct {
	kube.Resource
	keep  func(*O, []K) []K
	field func(*observed.Observation) *[]K
}

var (
	nodes = kind[corev1.Node, observed.Node]{kube.Resource{Version: "v1", Name: "nodes", Kind: "NodeList"}, keepNode,
		func(o *observed.Observation) *[]observed.Node { return &o.Nodes }}
	leases = kind[coordinationv1.Lease, observed.Lease]{kube.Resource{Version: "coordination.k8s.io/v1", Name: "leases", Kind: "LeaseList"}, keepLease,
		func(o *observed.Observation) *[]observed.Lease { return &o.Leases }}
	daemonSets = kind[appsv1.DaemonSet, observed.DaemonSet]{kube.Resource{Version: "apps/v1", Name: "daemonsets", Kind: "DaemonSetList"}, keepDaemonSet,
		func(o *observed.Observation) *[]observed.DaemonSet { return &o.DaemonSets }}
	services = kind[corev1.Service, observed.Service]{kube.Resource{Version: "v1", Name: "services", Kind: "ServiceList"}, keepService,
		func(o *observed.Observation) *[]observed.Service { return &o.Services }}
	volumes = kind[corev1.PersistentVolume, observed.Volume]{kube.Resource{Version: "v1", Name: "persistentvolumes", Kind: "PersistentVolumeList"}, keepVolume,
		func(o *observed.Observation) *[]observed.Volume { return &o.Volumes }}
	storageClasses = kind[storagev1.StorageClass, string]{kube.Resource{Version: "storage.k8s.io/v1", Name: "storageclasses", Kind: "StorageClassList"}, keepClass,
		func(o *observed.Observation) *[]string { return &o.StorageClasses }}
	// What every node reports of itself once is taken from the server's cache.
	drivers = kind[storagev1.CSINode, observed.NodeDrivers]{kube.Resource{Version: "storage.k8s.io/v1", Name: "csinodes", Kind: "CSINodeList", Options: metav1.ListOptions{ResourceVersion: "0"}}, keepDrivers,
		func(o *observed.Observation) *[]observed.NodeDrivers { return &o.Drivers }}
	pods = kube.Resource{Version: "v1", Name: "pods", Kind: "PodList"}
)

// read keeps the objects of an API server.
func (k kind[O, K]) read(o *Observer) part {
	return func(ctx context.Context, out *observed.Observation) (err error) {
		*k.field(out), err = kube.Collect(ctx, o.Client, k.Resource, k.keep)
		return err
	}
}

// add keeps an object of a dump.
func (k kind[O, K]) add(d *dump, h head, raw json.RawMessage) error {
	return one(d, h, raw, func(object *O) {
		kept := k.field(d.out)
		*kept = k.keep(object, *kept)
	})
}

const (
	// settleLimit is for how long leases are followed that last as long as usual.
	settleLimit = 40 * time.Second
	usualLease  = 15 * time.Second
	longLimit   = 5 * time.Minute
)

// settleTime is longer where leases last longer: the dead show only at their end.
func settleTime(out *observed.Observation) time.Duration {
	longest := usualLease
	processes := check.Processes(out.Managers)
	mains := lists.Flat([]string{observed.KubeManager, observed.CloudManager}, func(component string) []string { return check.Mains(component, processes) })
	for _, name := range append(mains, check.MigrationLease(processes)) {
		l, _ := out.Lease(name)
		longest = max(longest, time.Duration(l.DurationSeconds)*time.Second)
	}
	return min(settleLimit-usualLease+longest, longLimit)
}

// errUnsettled means that no verdict is possible: observations that are too far apart show
// no sign of life.
var errUnsettled = errors.New("it is not known yet whether their holders are alive")

// Settled looks once at everything, and then at the managers and the leases for as
// long as they do not show what a choice checks: who leads may be replaced meanwhile. What
// was seen before counts no more: a holder that was replaced since would be alive until
// its lease ends.
func (o *Observer) Settled(ctx context.Context, c check.Choice, every time.Duration) (*observed.Observation, error) {
	o.watch = observed.Watch{}
	out, err := o.Observe(ctx)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	for end := start.Add(settleTime(out)); check.Unsettled(out, c) && time.Now().Before(end) && kube.Pause(ctx, every); {
		if err := o.Again(ctx, out); err != nil {
			return nil, err
		}
		out.FollowedSeconds = time.Since(start).Seconds()
	}
	switch {
	case ctx.Err() != nil:
		return nil, &kube.Unreached{What: followed, Err: ctx.Err()}
	case check.Unsettled(out, c):
		return nil, &kube.Unreached{What: followed, Err: errUnsettled}
	}
	return out, nil
}

const followed = "follow the leases"

// Outage is a time in which a cluster that was seen before cannot be seen. Nothing
// is checked meanwhile.
type Outage struct {
	Notes io.Writer // says when one begins and ends
	// Denials is for how long a cluster may refuse what it has allowed: a token or a
	// role that is replaced is gone for a moment.
	Denials time.Duration
	Lost    error // why the cluster cannot be seen; nil while it can

	seen   bool      // it was seen once
	denied time.Time // when it began to refuse what it had allowed
}

// Over notes that the cluster was seen.
func (o *Outage) Over() {
	if o.Lost != nil {
		fmt.Fprintln(o.Notes, "seen again")
	}
	o.Lost, o.seen, o.denied = nil, true, time.Time{}
}

// Retryable notes why the cluster was not seen, and reports whether that may pass.
func (o *Outage) Retryable(err error) bool {
	first := o.Lost == nil
	o.Lost = err
	if !o.passes(err) {
		return false
	}
	if first && (o.seen || !kube.Unconnected(err)) {
		what, _, _ := strings.Cut(err.Error(), "; ") // what to do is in the error of the run that ends with it
		fmt.Fprintln(o.Notes, "unknown from now on, trying again:", what)
	}
	return true
}

func (o *Outage) passes(err error) bool {
	if !errors.As(err, new(*kube.Denied)) {
		return o.seen || !kube.NoCredentials(err)
	}
	if o.denied.IsZero() {
		o.denied = time.Now()
	}
	return o.seen && time.Since(o.denied) < o.Denials
}

// readRancher looks at Rancher's own objects, where the cluster is Rancher's. What the
// user may not see of them is withheld; it is no part of the cluster itself.
func (o *Observer) readRancher(ctx context.Context, out *observed.Observation) (err error) {
	// Every user may request this: without the right to list something, it is unknown whether there is such a resource.
	_, err = o.Do(ctx, kube.Request{What: "get the resources of rke.cattle.io", Method: http.MethodGet, Path: "/apis/rke.cattle.io/v1"})
	if kube.HasStatus(err, http.StatusNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	r := kube.Resource{Version: "rke.cattle.io/v1", Name: "rkecontrolplanes", Kind: "RKEControlPlaneList", Optional: true}
	planes, err := kube.CollectAs(ctx, o.Client, r, rollout.ReadControlPlane)
	out.ControlPlanes = lists.Map(planes, keepControlPlane)
	if len(planes) > 0 && err == nil {
		err = o.readPlans(ctx, out)
	}
	err = kube.Refusal(err)
	if denied, is := errors.AsType[*kube.Denied](err); is && !denied.Expired {
		out.Withheld = append(out.Withheld, denied.Missing...)
		return nil
	}
	return err
}

func keepControlPlane(c *rollout.ControlPlane) observed.ControlPlane {
	return observed.ControlPlane{
		Namespace: c.Namespace, Name: c.Name, Observed: c.Observed == c.Generation, Applied: c.Applied != nil && yamledit.Same(c.Spec, c.Applied),
		NotTrue: lists.Where([]string{"Ready", "Reconciled"}, func(name string) bool { return c.Conditions[name].Status != corev1.ConditionTrue }),
	}
}

// readPlans looks whether machines run their last plans. Of the values of their Secrets it
// keeps only whether two are the same.
func (o *Observer) readPlans(ctx context.Context, out *observed.Observation) error {
	r := kube.Resource{Version: "cluster.x-k8s.io/v1beta1", Name: "machines", Kind: "MachineList", Optional: true}
	machines, err := kube.CollectAs(ctx, o.Client, r, rollout.ReadMachine)
	if err != nil {
		return err
	}
	slices.SortFunc(machines, func(a, b rollout.Machine) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.PlanSecret, b.PlanSecret))
	})
	err = Plans(ctx, o.Client, machines)
	for _, m := range machines {
		if m.Plan != nil { // Rancher has made one
			out.MachinePlans = append(out.MachinePlans, observed.MachinePlan{Namespace: m.Namespace, Name: m.PlanSecret, Applied: m.Plan.Applied})
		}
	}
	return err
}

// Plans fills in the plans of machines, as far as they have one. Each Secret is read by its name: to
// list the Secrets of a namespace opens those of all clusters in it.
func Plans(ctx context.Context, c *kube.Client, machines []rollout.Machine) error {
	var closed sync.Map // namespaces in which Secrets may not be read
	return kube.ForEach(len(machines), func(i int) error {
		m := &machines[i]
		if _, is := closed.Load(m.Namespace); is || m.PlanSecret == "" {
			return nil
		}
		secret, err := kube.GetSecret(ctx, c, m.Namespace, m.PlanSecret)
		if kube.HasStatus(err, http.StatusForbidden) {
			closed.Store(m.Namespace, true)
		}
		m.Plan = rollout.PlanOf(m.Name, secret)
		return err
	})
}
