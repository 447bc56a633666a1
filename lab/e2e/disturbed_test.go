// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// faulty is a run of migrate to which something happens when it says something for the first time.
type faulty struct {
	*runner
	when  func(report.RunEvent) bool
	what  func()
	armed atomic.Bool
}

// during runs migrate until what happens to it ends it, or to its end.
func (c *runner) during(when func(report.RunEvent) bool, what func(), codes []int, more ...string) (int, string) {
	c.Helper()
	f := &faulty{runner: c, when: when, what: what}
	f.armed.Store(true)
	code, text := c.result(c.start(f.hear, "migrate", more...), codes...)
	if f.armed.Load() {
		c.Errorf("nothing happened to the run:\n%s", text)
	}
	return code, text
}

func (f *faulty) hear(_ *run, e report.RunEvent) {
	if f.when(e) && f.armed.CompareAndSwap(true, false) {
		f.what()
	}
}

// written is when a stage's edit was written.
func written(stage string) func(report.RunEvent) bool {
	return func(e report.RunEvent) bool { return e.Type == migrate.Written && e.Stage == stage }
}

// announced is when a stage begins.
func announced(stage string) func(report.RunEvent) bool {
	return func(e report.RunEvent) bool { return e.Type == migrate.Staged && e.Stage == stage }
}

// Whatever happens during a migration, it comes to the same result.
func TestAMigrationOfAClusterOfARancherSurvivesDisturbances(t *testing.T) {
	t.Parallel()
	c := rke2Cluster(t)
	stop := c.busy()
	c.crossed()
	c.cutOff()
	c.expired()
	c.conflict()
	c.restarted()
	c.neverReady()
	c.notReady()
	c.rke("migrate")
	stop()
	c.served()
	c.unharmed(undisturbed(t).external)
	c.end("faults")
}

// crossed starts another run while one runs, which a machine keeps from being done first.
func (c *managed) crossed() {
	c.Helper()
	c.during(written(stages.EnableLeaderMigration), func() {
		c.downstream.Stall(c.downstream.Machines[1].Name)
		other := c.start(nil, "migrate")
		<-other.ended
		c.downstream.Stall("")
		if printed := other.fault.String(); other.code != 4 || !strings.Contains(printed, "; wait until it ends, or stop it, and run the command again") {
			c.Errorf("the other run ended with exit code %d\n%s", other.code, printed)
		}
	}, []int{0}, "--until", stages.EnableLeaderMigration)
}

// pause keeps a machine from following, until the function that it returns is called.
func (c *managed) pause() (release func()) {
	ctx := context.WithoutCancel(c.Context())
	if err := c.downstream.Suspend(ctx, c.downstream.Machines[1].Name); err != nil {
		c.Error(err)
	}
	return func() {
		if err := c.downstream.Release(ctx); err != nil {
			c.Error(err)
		}
	}
}

// cutOff breaks the network for some seconds while machines are waited for.
func (c *managed) cutOff() {
	c.Helper()
	restored := make(chan struct{})
	c.during(written(stages.InstallCCM), func() {
		c.rancher.Cut()
		time.AfterFunc(5*time.Second, func() { c.rancher.Restore(); close(restored) })
	}, []int{0, 3}, "--until", stages.InstallCCM)
	if !c.Failed() {
		<-restored
	}
	c.rke("migrate", "--until", stages.InstallCCM)
}

// expired takes the token back when nodes are cordoned: the run cannot even release them.
func (c *managed) expired() {
	c.Helper()
	c.during(written(stages.CordonControlPlane), func() { c.rancher.Revoke(c.token) }, []int{3, 4})
	if len(c.cordoned()) == 0 {
		c.Error("no node was cordoned when the token expired")
	}
	c.token = c.rancher.Token()
}

// restarted restarts both API servers before the switch. One that has just started knows no
// permissions yet, and a run may take that for a refusal.
func (c *managed) restarted() {
	c.Helper()
	ctx := context.WithoutCancel(c.Context())
	c.during(announced(stages.SwitchToExternal), func() {
		for _, of := range []*cluster.Cluster{c.rancher.Local, c.cluster} {
			if err := of.RestartAPI(ctx); err != nil {
				c.Error(err)
			}
		}
	}, []int{0, 3, 4}, "--until", stages.SwitchToExternal)
	c.rke("migrate", "--until", stages.SwitchToExternal)
}

// neverReady lets a machine hang when the last edit comes to it. The run gives up, and the next one continues
// when the machine is back.
func (c *managed) neverReady() {
	c.Helper()
	var release func()
	c.rancher.Before(edits, func() { release = c.pause() })
	if _, text := c.result(c.start(nil, "migrate", "--timeout", "30s"), 3); release == nil {
		c.Fatalf("the run gave up before the last edit\n%s", text)
	}
	release()
}

// edits matches the requests by which a run changes the cluster's object.
func edits(r rancher.Request) bool {
	return r.Method == http.MethodPatch && strings.HasSuffix(r.Path, "/clusters/lab") && !strings.Contains(r.Query, "dryRun")
}

// notReady lets the node of a machine that follows say that it is not ready. The run says that it waits for
// it, and continues when the node is ready again.
func (c *managed) notReady() {
	c.Helper()
	ctx := context.WithoutCancel(c.Context())
	machine := c.downstream.Machines[0].Name
	becomes := func(ready corev1.ConditionStatus) {
		if err := c.downstream.SetReady(ctx, machine, ready); err != nil {
			c.Error(err)
		}
	}
	becomes(corev1.ConditionFalse)
	c.during(func(e report.RunEvent) bool {
		return e.Type == migrate.Awaited && strings.Contains(e.Message, "the control plane is NotReady")
	}, func() { becomes(corev1.ConditionTrue) }, []int{0})
}

// conflict lets another client change what a stage is about to change, after it was planned. The run is
// refused, and continues when the other one has taken its change back.
func (c *managed) conflict() {
	c.Helper()
	const list = "/spec/rkeConfig/machineGlobalConfig/kube-controller-manager-arg/0"
	c.rancher.Before(edits, func() {
		c.patch(`[{"op":"add","path":"` + list + `","value":"v=3"}]`)
	})
	if _, text := c.result(c.start(nil, "migrate", "--until", stages.SwitchToExternal), 4); !strings.Contains(text, "changed") {
		c.Error(text)
	}
	if nodes := c.cordoned(); len(nodes) > 0 {
		c.Errorf("%v stayed cordoned after a run that was refused", nodes)
	}
	c.patch(`[{"op":"remove","path":"` + list + `"}]`)
	c.eventually("the change undone on every machine", func(context.Context) bool {
		return !slices.ContainsFunc(c.cluster.Managers(), func(m *cluster.Manager) bool { return m.Alive() && slices.Contains(m.Args, "--v=3") })
	})
}

// patch changes the cluster's object as another client does.
func (c *managed) patch(patch string) {
	at, name := c.resource()
	if _, err := at.Patch(context.WithoutCancel(c.Context()), name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		c.Error(err)
	}
}

// rewrite writes the whole of the cluster's object as Rancher's UI does.
func (c *managed) rewrite(ctx context.Context, change func(spec map[string]any)) {
	at := c.clusterObjects()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		o, err := at.Get(ctx, c.downstream.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(o.Object["spec"].(map[string]any))
		_, err = at.Update(ctx, o, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		c.Error(err)
	}
}
