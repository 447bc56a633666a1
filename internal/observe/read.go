// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
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
