// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"sync/atomic"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Names of files that are of one cluster, as in Finder.Only and in errors: with the host names of its Nodes, and with
// the values of its chart.
const (
	HostNames = "host-names"
	CCMValues = "ccm-values"
)

// Options are what verbs share: the clusters that were found, and the choices for them.
type Options struct {
	Finder   clusters.Finder // that found them
	Found    []clusters.Result
	Target   transform.Target
	Progress *report.Progress // nil where none is shown

	Nodes, Parsed int64 // the work of the process before the clusters were found: yamledit.Spent
}

// Result is what a verb makes of a cluster, or an error, or both; or what else was found.
type Result[T any] struct {
	clusters.Result
	Target transform.Target // for the cluster
	Made   *T               // nil for nothing
}

// Each calls work for every cluster, on all cores. It fails if ctx ends.
func Each[T any](ctx context.Context, o Options, work func(clusters.Cluster, transform.Target) (*T, error)) ([]Result[T], error) {
	defer o.Progress.Start(ctx).End()
	var done atomic.Int64
	results := clusters.Each(ctx, 0, o.Found, func(r clusters.Result) Result[T] {
		of := Result[T]{Result: r}
		if r.Docs != nil && r.Err == nil {
			of.Target = r.For(o.Target)
			of.Err = transform.Guard(r.Place(), func() (err error) {
				if err = CheckHostNames(o.Finder, r.Cluster); err == nil {
					of.Made, err = work(r.Cluster, of.Target)
				}
				return err
			})
		}
		o.Progress.Reached("clusters", int(done.Add(1)), len(o.Found))
		return of
	})
	return results, ctx.Err()
}

// CheckHostNames refuses host names for RKE, whose kubelets take another name than the host's.
func CheckHostNames(f clusters.Finder, c clusters.Cluster) error {
	if f.Only != HostNames || c.Distro.Live.Kind != transform.Management {
		return nil
	}
	return c.Docs[0].Root().Errorf("--"+HostNames+" proves nothing for RKE: its kubelets have the hostname_override of the node, and not the host name", "remove the flag; the switch keeps the names with useInstanceMetadataHostname")
}

// Left is a cluster as a verb leaves it, or an error in the place of one, or both.
type Left struct {
	clusters.Cluster
	Target transform.Target
	After  []*yamledit.Document // nil for no cluster
	Err    error
}

// MostSummed bounds the clusters of which a verb that changes or checks them works out the state:
// that costs as much as the change.
const MostSummed = 100

// SumUp adds the states of several clusters to a summary; what has no plan is refused. It returns the number of
// clusters if there are too many.
func SumUp(to *report.Collector, all []Left) (many int) {
	for _, one := range all {
		if one.After != nil {
			many++
		}
	}
	if many > MostSummed {
		return many
	}
	for _, one := range all {
		if len(all) > 1 && (one.After == nil || !one.Add(to)) && one.Err != nil {
			to.Refused++
		}
	}
	return 0
}

// Add adds the state of the cluster to a summary; false where its documents have no plan, which the verb reports.
func (l Left) Add(to *report.Collector) bool {
	var p *transform.Plan
	err := transform.Guard(l.Place(), func() (err error) {
		p, err = transform.BuildFor(l.Distro, l.After, l.Target, transform.Choice{Next: true})
		return err
	})
	if err != nil {
		return false
	}
	s := report.NewStatus(p)
	s.Count(l.Objections(l.Target))
	to.Row(s, l.Live.Name(), l.Refusal(l.Target) != nil)
	return true
}
