// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// named is the cluster of testdata under another name.
func named(t *testing.T, name string) *yamledit.Document {
	t.Helper()
	return inPlace(t, "rancher/rke2.yaml", "  name: lab\n", "  name: "+name+"\n")
}

// also adds another cluster to the Rancher, which is recorded by itself.
func (c *managed) also(name string) *scenario {
	c.Helper()
	began := time.Now()
	d := assert.Value(c.rancher.AddRKE2(c.Context(), named(c.T, name)))(c)
	s := &scenario{T: c.T, cluster: d.Cluster, began: began, machines: len(d.Machines)}
	s.record()
	return s
}

// serve makes a Service, which gets a load balancer from the owner of the service controller.
func (s *scenario) serve(name string) {
	s.Helper()
	assert.NilError(s, s.service(s.Context(), name))
	s.served()
}

// mark merges metadata into the object of a cluster, again where the server is too busy. Rancher's webhook may change
// the specification with it.
func (c *managed) mark(name, metadata string) {
	c.Helper()
	at := c.clusterObjects()
	c.eventually(metadata+" on "+name, func(ctx context.Context) bool {
		_, err := at.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":`+metadata+`}`), metav1.PatchOptions{})
		if err != nil {
			c.Log(err)
		}
		return err == nil
	})
}

// settled waits until machines have what the object of a cluster says: a run refuses a cluster before that.
func (c *managed) settled(name string) {
	c.Helper()
	at := c.clusterObjects()
	c.eventually(name+" has settled", func(ctx context.Context) bool {
		o, err := at.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		seen, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		return seen == o.GetGeneration() && !slices.ContainsFunc(conditions, func(one any) bool { return one.(map[string]any)["status"] != "True" })
	})
}

// over are the states of the clusters in a report, as name=state.
func over(r report.Migration) string {
	var list []string
	for _, m := range r.Clusters {
		list = append(list, strings.TrimPrefix(m.Cluster, rancher.Namespace+"/")+"="+string(m.State))
	}
	return strings.Join(list, " ")
}

// Three clusters of a Rancher in waves: the canary proves itself with a Service, the second one is refused and keeps
// the third from starting, and a run that is killed at the switch is continued by the same command.
func TestWavesOverThreeClustersOfARancher(t *testing.T) {
	t.Parallel()
	c := rke2Cluster(t)
	second, third := c.also("second"), c.also("third")
	for _, name := range []string{"lab", "second", "third"} {
		c.mark(name, `{"labels":{"fleet":"yes"}}`)
	}
	c.mark("second", `{"annotations":{"argocd.argoproj.io/tracking-id":"another"}}`)
	for _, s := range []*scenario{c.scenario, second, third} {
		s.serve("first")
	}
	for _, name := range []string{"lab", "second", "third"} {
		c.settled(name)
	}
	flags := []string{"--selector", "fleet=yes", "--canary", "lab", "--wave-size", "1", "--canary-service"}

	r := c.startOver(nil, "migrate", flags...)
	c.result(r, 4)
	if got := over(r.report); got != "lab=done second=failed third=waiting" {
		t.Fatalf("%s %+v", got, r.report)
	}
	c.writers(cluster.KCM, cluster.CCM)
	third.writers(cluster.KCM)

	c.mark("second", `{"annotations":{"argocd.argoproj.io/tracking-id":null}}`)
	r = c.startOver(func(r *run, e report.RunEvent) {
		if e.Stage == stages.SwitchToExternal && e.Type == "written" && strings.HasSuffix(e.Cluster, "/second") {
			r.kill()
		}
	}, "migrate", flags...)
	c.result(r, killed)
	r = c.startOver(nil, "migrate", flags...)
	c.result(r, 0)
	if got := over(r.report); got != "lab=done second=done third=done" {
		t.Fatalf("%s %+v", got, r.report)
	}
	for _, m := range r.report.Clusters {
		if m.Watched.Two > 0 || m.Cluster == rancher.Namespace+"/third" && m.Switch == nil {
			t.Errorf("%+v", m)
		}
	}
	fmt.Printf("the gap of the third at its switch: %+v\n", r.report.Clusters[2].Switch)
	for _, s := range []*scenario{c.scenario, second, third} {
		s.serve("last")
		s.writers(cluster.KCM, cluster.CCM)
	}
	c.scenario.end("waves-canary")
	second.end("waves-killed")
	third.end("waves-last")
}
