// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

func machine(name, cluster string) string {
	return fmt.Sprintf(`{"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"Machine","metadata":{"name":%q,"namespace":"fleet-default","labels":{"cluster.x-k8s.io/cluster-name":%q,"rke.cattle.io/control-plane-role":"true"}},"spec":{"bootstrap":{"configRef":{"kind":"RKEBootstrap","name":%[1]q}}},"status":{"nodeRef":{"name":"ip-%[1]s"}}}`, name, cluster)
}

func plan(machine, config, applied string) string {
	content := base64.StdEncoding.EncodeToString([]byte(config))
	text := base64.StdEncoding.EncodeToString([]byte(`{"files":[{"path":"/etc/rancher/rke2/config.yaml.d/50-rancher.yaml","content":"` + content + `"}]}`))
	if applied == "" {
		applied = text
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","type":"rke.cattle.io/machine-plan","metadata":{"name":"%s-machine-plan","namespace":"fleet-default","labels":{"rke.cattle.io/machine-name":%[1]q}},"data":{"plan":%q,"appliedPlan":%q}}`, machine, text, applied)
}

const controlPlaneText = `{"apiVersion":"rke.cattle.io/v1","kind":"RKEControlPlane","metadata":{"name":"orchard","namespace":"fleet-default","generation":4},
 "spec":{"kubernetesVersion":"v1.26.15+rke2r1"},"status":{"observedGeneration":4,"appliedSpec":{"kubernetesVersion":"v1.26.15+rke2r1"},"conditions":[{"type":"Ready","status":"True"},{"type":"Reconciled","status":"Unknown","message":"waiting"}]}}`

func TestARolloutIsSeenAsRancherShowsIt(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		for _, text := range []string{
			controlPlaneText, machine("m-2", "orchard"), machine("m-1", "orchard"), machine("m-9", "another"),
			plan("m-1", `{"cloud-provider-name":"aws"}`, ""), plan("m-2", `{"cloud-provider-name":"external"}`, "b2xk"), plan("m-9", `{}`, ""),
		} {
			r.Put(t, text)
		}
		seen := assert.Value(s.Rollout(t.Context(), find(t, s, "orchard")))(t)
		c := seen.ControlPlane
		assert.Mustf(t, c != nil && c.Generation == 4 && c.Observed == 4 && c.Conditions["Reconciled"].Status == "Unknown" && len(seen.Machines) == 2, "%+v %+v", c, seen.Machines)
		one, two := seen.Machines[0], seen.Machines[1]
		assert.Truef(t, one.Name == "m-1" && one.Node == "ip-m-1" && one.Plan != nil && one.Plan.Applied && one.Plan.Config["cloud-provider-name"] == "aws", "%+v %+v", one, one.Plan)
		assert.True(t, two.Plan != nil && !two.Plan.Applied && two.Plan.Config["cloud-provider-name"] == "external", two.Plan)
	})
}

func TestManyMachinesArePlannedFor(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		for i := range 3*kube.AtOnce + 1 {
			name := fmt.Sprintf("m-%03d", i)
			r.Put(t, machine(name, "orchard"))
			r.Put(t, plan(name, `{}`, ""))
		}
		seen, err := s.Rollout(t.Context(), find(t, s, "orchard"))
		assert.Mustf(t, err == nil && len(seen.Machines) == 3*kube.AtOnce+1 && seen.ControlPlane == nil && r.Count("/secrets/") == 3*kube.AtOnce+1 && r.Count("/secrets?") == 0, "%v, %d machines, %d requests", err, len(seen.Machines), r.Count("/secrets/"))
		for _, m := range seen.Machines {
			assert.Truef(t, m.Plan != nil, "%s has no plan", m.Name)
		}
	})
}

// Another Secret of that name is no plan, nor is that of another machine.
func TestWhatIsNoPlanOfTheMachineIsNone(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		r.Put(t, machine("m-1", "orchard"))
		r.Put(t, machine("m-2", "orchard"))
		r.Put(t, machine("m-3", "orchard"))
		r.Put(t, strings.Replace(plan("m-1", `{}`, ""), "rke.cattle.io/machine-plan", "Opaque", 1))
		r.Put(t, strings.Replace(plan("m-2", `{}`, ""), `"rke.cattle.io/machine-name":"m-2"`, `"rke.cattle.io/machine-name":"m-1"`, 1))
		seen, err := s.Rollout(t.Context(), find(t, s, "orchard"))
		assert.Mustf(t, err == nil && len(seen.Machines) == 3, "%v %+v", err, seen.Machines)
		for _, m := range seen.Machines {
			assert.Truef(t, m.Plan == nil, "%s has a plan", m.Name)
		}
	})
}

// A list of the Secrets of a namespace opens those of all clusters in it.
func TestNoSecretsAreListed(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		r.Put(t, machine("m-1", "orchard"))
		r.Put(t, plan("m-1", `{}`, ""))
		r.Fail(ranchertest.Fault{Status: 403}, func(req *http.Request) bool { return strings.HasSuffix(req.URL.Path, "/secrets") })
		seen, err := s.Rollout(t.Context(), find(t, s, "orchard"))
		assert.Truef(t, err == nil && len(seen.Machines) == 1 && seen.Machines[0].Plan != nil, "%v %+v", err, seen.Machines)
	})
}

func TestTheRolloutOfAnEngineIsInItsObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := open(t)
		seen, err := s.Rollout(t.Context(), find(t, s, "curlew"))
		assert.Truef(t, err == nil && seen.Engine != nil && seen.Engine.Conditions["Ready"].Status == "True" && seen.Engine.Spec["kubernetesVersion"] == "v1.26.15-rancher1-1", "%v %+v", err, seen.Engine)
	})
}

func TestARolloutThatIsNotSeenWholeIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, part := range []string{"/rkecontrolplanes/", "/machines?", "/secrets/"} {
			r, s := open(t)
			r.Put(t, machine("m-1", "orchard"))
			o := find(t, s, "orchard")
			r.Fail(ranchertest.Fault{Status: 403}, func(req *http.Request) bool { return strings.Contains(req.URL.String(), part) })
			_, err := s.Rollout(t.Context(), o)
			assert.Truef(t, denied(err), "%s: %v", part, err)
		}
	})
}

func TestWhatIsAroundAClusterIsRead(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		r.Put(t, controlPlaneText)
		r.Put(t, `{"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"Cluster","metadata":{"name":"orchard","namespace":"fleet-default"},"spec":{"paused":true}}`)
		seen, err := s.Around(t.Context(), find(t, s, "orchard"))
		assert.Truef(t, err == nil && strings.Contains(string(seen.ControlPlane), "RKEControlPlane") && strings.Contains(string(seen.Infrastructure), `"paused":true`) && strings.Contains(string(seen.Object), "managedFields"), "%v %s %s", err, seen.ControlPlane, seen.Infrastructure)
		seen, err = s.Around(t.Context(), find(t, s, "curlew"))
		assert.Truef(t, err == nil && seen.ControlPlane == nil && seen.Object != nil, "%v %s", err, seen.ControlPlane)
	})
}

// A page in the place of an object does not show that nothing is paused.
func TestAPageIsNothingAroundACluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, part := range []string{"/rkecontrolplanes/", "/cluster.x-k8s.io/"} {
			r, s := open(t)
			o := find(t, s, "orchard")
			pages, most := 0, 2
			r.Fail(ranchertest.Fault{Status: 200, Body: "<html>starting</html>"}, func(req *http.Request) bool {
				if strings.Contains(req.URL.Path, part) {
					pages++
				}
				return strings.Contains(req.URL.Path, part) && pages <= most
			})
			seen, err := s.Around(t.Context(), o)
			assert.Truef(t, err == nil && seen.ControlPlane == nil && seen.Infrastructure == nil, "%s: %v %s%s", part, err, seen.ControlPlane, seen.Infrastructure)
			r.Do(func() { most = 1 << 30 })
			_, err = s.Around(t.Context(), o)
			assert.Truef(t, unreached(err), "%s: %v", part, err)
		}
	})
}

func TestRightsThatAreMissingAreListedInTheirOrder(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		o := find(t, s, "orchard")
		r.Do(func() { r.Denied["patch nodes"], r.Denied["list machines"] = true, true })
		needed := rollout.Permissions("migrate", rollout.Subject{Kind: o.Kind, Home: o.Home(), Name: o.Name, ID: o.ID, Needs: action.CordonNodes("", "").Needs})
		missing, err := s.Rights(t.Context(), needed)
		assert.True(t, err == nil && fmt.Sprint(missing) == "[list machines.cluster.x-k8s.io in fleet-default patch nodes of the cluster c-m-8kqlhbsd]", err, missing)
		n := r.Count("POST /k8s/clusters/c-m-8kqlhbsd/apis/authorization.k8s.io")
		assert.Truef(t, n != 0 && r.Count("PATCH") == 0, "%d reviews on the cluster, %v", n, r.Requests)
	})
}
