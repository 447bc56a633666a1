// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// refusals are runs that write nothing, and for what they are refused; what follows an empty text is not said.
var refusals = map[string]struct {
	world   func(*testing.T) *world
	prepare func(*testing.T, *world)
	work    work
	with    choices
	code    int
	says    []string
}{
	"a rollback from 1.27": {migrated, func(_ *testing.T, w *world) {
		w.release("v1.27.16+rke2r1")
		w.Follow()
	}, migrate.Backward, usual, transform.ExitRefused, []string{"Kubernetes 1.27 and later have no in-tree provider to roll back to"}},
	"a rollback past 1.26": {after(late126, restarting), asItIs, migrate.Backward, restarting, transform.ExitRefused, []string{"provider IDs never change, so set-provider-ids cannot be undone either"}},
	// Kubernetes does not go back, and no document takes a cluster there.
	"a rollback of an upgrade": {after(late126, restarting), asItIs, migrate.Backward, targeting(transform.Target{Version: "v1.32.7+rke2r1"}), transform.ExitRefused, []string{"cannot be downgraded"}},
	"components that do not start": {rke2World, func(t *testing.T, w *world) {
		w.Rancher.Put(t, strings.Replace(migratetest.RKE2Object, "v1.26.15+rke2r1", "v1.28.15+rke2r1", 1))
	}, migrate.Forward, restarting, transform.ExitRefused, []string{"rke-lm apply --cluster"}},
	"without the rights": {rke2World, func(_ *testing.T, w *world) { w.Rancher.Denied["patch nodes"] = true }, migrate.Forward, usual, transform.ExitRefused, []string{"patch nodes"}},
	"a cluster that is changing": {rke2World, func(_ *testing.T, w *world) {
		w.Stick(true)
		w.release("v1.26.14+rke2r1")
	}, migrate.Forward, usual, transform.ExitRefused, []string{"cluster-not-settled"}},
	"without a control plane": {rke2World, func(_ *testing.T, w *world) { w.ready(1, corev1.ConditionUnknown) }, migrate.Forward, usual, transform.ExitFound, []string{"is NotReady: its kubelet stopped reporting its status"}},
	// One minor later the image would be two minors older than kube-apiserver.
	"an image that is older than the cluster": {after(rke1World, canonical), func(_ *testing.T, w *world) {
		w.release("v1.27.16-rancher1-1")
		w.Follow()
	}, migrate.Forward, func(_ *world, o *migrate.Options) { o.Planner.Target.Version = "v1.28.15-rancher1-1" }, transform.ExitFound, []string{"has the image v1.26.6 on Kubernetes v1.27.16-rancher1-1"}},
	"a rollback that would replace values of the release": {after(rke1World, canonical), func(t *testing.T, w *world) {
		w.PutRelease(t, w.Values(t)+"podAnnotations: {team: platform}\n")
	}, migrate.Backward, canonical, transform.ExitRefused, []string{": podAnnotations.team (release-values-replaced)"}},
	// It fails for another reason than that there is no release.
	"values that cannot be read": {rke1World, func(t *testing.T, w *world) {
		w.PutHelm(t, "#!/bin/sh\necho 'Error: the server is currently unable to handle the request, password=hunter2' >&2\nexit 1\n")
	}, migrate.Forward, usual, transform.ExitFailed, []string{"cannot be read", "", "hunter2"}},
	// Rancher's controller refuses such a cluster without a condition (isBackupSet).
	"RKE1 without a backup configuration":                            {rke1World, asItIs, migrate.Forward, snapshotting, transform.ExitRefused, []string{"etcd-snapshot-impossible", "run without --etcd-snapshot"}},
	"short leases of a manager that takes part without them":         {after(rke2World, until(stages.InstallCCM)), asItIs, migrate.Forward, shorter, transform.ExitRefused, []string{"has the default timings of leases"}},
	"short leases of a manager of RKE1 that takes part without them": {after(rke1World, until(stages.InstallCCM)), asItIs, migrate.Forward, shorter, transform.ExitRefused, []string{"has the default timings of leases"}},
}

func asItIs(*testing.T, *world) {}

func TestARunThatIsRefusedWritesNothing(t *testing.T) {
	for name, c := range refusals {
		t.Run(name, func(t *testing.T) {
			on(t, c.world, func(t *testing.T, w *world) {
				w.Forget()
				c.prepare(t, w)
				err := w.does(t, "refused", c.work, c.with)
				assert.Truef(t, transform.ExitCodeOf(err) == c.code && len(w.Writes()) == 0 && w.Rancher.Count("POST /k8s/clusters/local/apis/management") == 0, "exit code %d, %v, %v", transform.ExitCodeOf(err), w.Writes(), err)
				printed := true
				for _, part := range c.says {
					printed = printed && part != ""
					assert.Truef(t, part == "" || strings.Contains(fmt.Sprint(err), part) == printed, "%q: %v", part, err)
				}
			})
		})
	}
}

// Nothing that RKE2 derives from the name of a Node proves that its machine has that name.
func TestARunKnowsOnlyTheHostNamesThatNodesShow(t *testing.T) {
	named := func(w *world, args func(node string) string) {
		w.API.Do(func() {
			for i := range w.API.Nodes {
				n := &w.API.Nodes[i]
				n.Labels["kubernetes.io/hostname"] = n.Name // that of the host is orchard-servers-0
				n.Status.NodeInfo.KubeletVersion = "v1.26.15+rke2r1"
				n.Annotations = map[string]string{"rke2.io/node-args": args(n.Name)}
			}
		})
	}
	for _, c := range []struct {
		name, args string // NODE is the name of the Node
		chosen     string
		want       string // in the error; "" for none
	}{
		{"the label", `["server"]`, "", "the host names are not known"},
		{"node-names", `["server","--node-name","NODE"]`, "", ""},
		{"other node-names", `["server","--node-name=x-NODE"]`, transform.EndStateExternal, "external renames " + apitest.NodeName(0) + " to x-" + apitest.NodeName(0)},
	} {
		onRKE2(t, func(t *testing.T, w *world) {
			w.Rancher.Edit(migratetest.RKE2Path, func(o map[string]any) {
				delete(o["spec"].(map[string]any)["rkeConfig"].(map[string]any), "machinePools")
			})
			w.Follow()
			named(w, func(node string) string { return strings.ReplaceAll(c.args, "NODE", node) })
			w.Forget()
			err := w.does(t, "one", migrate.Forward, targeting(transform.Target{EndState: c.chosen}))
			assert.Truef(t, (c.want != "" || err == nil) && strings.Contains(fmt.Sprint(err), c.want) && (c.want == "" || len(w.Writes()) == 0), "%s: %v %v", c.name, err, w.Writes())
			s := w.Spec(t)
			assert.Truef(t, c.want != "" || strings.Contains(s, `"cloud-provider-name":"external"`), "%s: %s", c.name, s)
		})
	}
}

func TestAMigrationDoesNotBeginOnAClusterWithErrors(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		w.API.Do(func() { w.API.Nodes[2].Spec.ProviderID = "" })
		err := w.does(t, "one", migrate.Forward)
		assert.Truef(t, transform.ExitCodeOf(err) == transform.ExitFound && strings.Contains(fmt.Sprint(err), "provider ID") && len(w.Writes()) == 0, "%v %v", err, w.Writes())
		assert.NilError(t, w.does(t, "two", migrate.Forward, accepting("provider-id-missing"), until(stages.GrantMigrationLease)))
	})
}

func TestABlockedStageKeepsTheRunFromBeginning(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		external := targeting(transform.Target{EndState: transform.EndStateExternal})
		err := w.does(t, "one", migrate.Forward, external)
		assert.Truef(t, transform.ExitCodeOf(err) == transform.ExitFound && strings.Contains(fmt.Sprint(err), "the stage switch-to-external is blocked") && len(w.Writes()) == 0, "%v %v", err, w.Writes())
		assert.NilError(t, w.does(t, "two", migrate.Forward, external, until(stages.InstallCCM)))
		w.Forget()
		err = w.does(t, "three", migrate.Forward, external) // as a run of an earlier release is continued
		assert.Truef(t, strings.Contains(fmt.Sprint(err), "the stage switch-to-external is blocked") && len(w.Writes()) == 0, "the run that continues: %v %v", err, w.Writes())
	})
}

// deny lets the cluster deny reads whose path ends so, as its authorizer does.
func (w *world) deny(denied func(path string) bool) {
	w.API.Do(func() {
		w.API.Fault = func(r *http.Request) apitest.Fault {
			if r.Method != http.MethodGet || !denied(r.URL.Path) {
				return apitest.Fault{}
			}
			return apitest.Fault{Status: http.StatusForbidden, Body: `{"kind":"Status","apiVersion":"v1","code":403,"message":"it is forbidden: User \"u\" cannot list it"}`}
		}
	})
}

// What a run continues without is neither requested by its preflight, nor waited for.
func TestAMigrationNeedsNoMoreThanItsRights(t *testing.T) {
	for name, c := range map[string]struct {
		right  string
		denied func(path string) bool
	}{
		"no Events":              {"list events", func(path string) bool { return strings.HasSuffix(path, "/events") }},
		"pods of kube-system":    {"list pods of all namespaces", func(path string) bool { return path == "/api/v1/pods" }},
		"no workloads of others": {"list daemonsets of all namespaces", func(path string) bool { return path == "/apis/apps/v1/daemonsets" }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took := func(missing bool) time.Duration {
					w := rke2World(t)
					w.API.Services = append(w.API.Services, corev1.Service{
						ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", CreationTimestamp: metav1.Now()},
						Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
					})
					if missing {
						w.Rancher.Denied[c.right] = true
						w.deny(c.denied)
					}
					start := time.Now()
					assert.NilError(t, w.does(t, "one", migrate.Forward, until(stages.EnableLeaderMigration)))
					return time.Since(start)
				}
				with, without := took(false), took(true)
				assert.Truef(t, without <= with+time.Second, "%s, and %s without the right", with, without)
			})
		})
	}
}
