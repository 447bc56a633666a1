// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

const rancherList = `{"apiVersion":"rke.cattle.io/v1","kind":"RKEControlPlaneList","metadata":{},"items":[
{"metadata":{"name":"orchard","namespace":"fleet-default","generation":4},"spec":{"a":1,"b":[true]},
 "status":{"observedGeneration":4,"appliedSpec":{"b":[true],"a":1},"conditions":[{"type":"Ready","status":"True"},{"type":"Reconciled","status":"True"}]}},
{"metadata":{"name":"meadow","namespace":"fleet-default","generation":5},"spec":{"a":2},
 "status":{"observedGeneration":4,"appliedSpec":{"a":1},"conditions":[{"type":"Ready","status":"True"},{"type":"Reconciled","status":"Unknown"}]}}]}`

// machines is the list of machines, which are called as their RKEBootstraps.
func machines(names ...string) string {
	var items []string
	for _, name := range names {
		items = append(items, fmt.Sprintf(`{"kind":"Machine","metadata":{"name":%[1]q,"namespace":"fleet-default"},"spec":{"bootstrap":{"configRef":{"kind":"RKEBootstrap","name":%[1]q}}}}`, name))
	}
	return `{"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"MachineList","metadata":{},"items":[` + strings.Join(items, ",") + `]}`
}

func plan(machine, plan, applied string) corev1.Secret {
	return corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "fleet-default", Name: machine + "-machine-plan", Labels: map[string]string{"rke.cattle.io/machine-name": machine}},
		Type:       "rke.cattle.io/machine-plan", Data: map[string][]byte{"plan": []byte(plan), "appliedPlan": []byte(applied)},
	}
}

// onRanchers runs a test over Rancher's own cluster, with the machines of others.
func onRanchers(t *testing.T, test func(t *testing.T, s *apitest.Server)) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		s.ControlPlanes = rancherList
		s.Machines = machines("two", "one", "three")
		s.Secrets = []corev1.Secret{plan("one", "new", "new"), plan("two", "new-and-confidential", "old"), {ObjectMeta: metav1.ObjectMeta{Namespace: "fleet-default", Name: "other"}, Type: "Opaque"}}
		test(t, s)
	})
}

// A list of Secrets opens those of all namespaces.
func TestRanchersOwnClusterShowsWhatSettledWithoutAListOfSecrets(t *testing.T) {
	onRanchers(t, func(t *testing.T, s *apitest.Server) {
		o := observation(t, s)
		want := []observed.ControlPlane{
			{Namespace: "fleet-default", Name: "orchard", Observed: true, Applied: true},
			{Namespace: "fleet-default", Name: "meadow", NotTrue: []string{"Reconciled"}},
		}
		assert.DeepEqual(t, o.ControlPlanes, want)
		assert.DeepEqual(t, o.MachinePlans, []observed.MachinePlan{{Namespace: "fleet-default", Name: "one-machine-plan", Applied: true}, {Namespace: "fleet-default", Name: "two-machine-plan"}})
		for _, r := range s.Requests {
			assert.True(t, !strings.HasSuffix(r.URL.Path, "/secrets"), "Secrets are listed: ", r.URL)
		}
	})
}

func TestWhatMayNotBeSeenOfRancherIsNotCheckedAndFailsNothing(t *testing.T) {
	for part, want := range map[string]string{
		"/rkecontrolplanes":                 "list rkecontrolplanes.rke.cattle.io",
		"/machines":                         "list machines.cluster.x-k8s.io",
		"/namespaces/fleet-default/secrets": "get secrets in fleet-default",
	} {
		onRanchers(t, func(t *testing.T, s *apitest.Server) {
			settled, _, _ := strings.Cut(rancherList, ",\n{\"metadata\":{\"name\":\"meadow\"")
			s.ControlPlanes = settled + "]}"
			s.Secrets = []corev1.Secret{plan("one", "new", "new")}
			s.Fault = always(part, apitest.Fault{Status: http.StatusForbidden})
			o := observation(t, s)
			assert.EqualSlices(t, o.Withheld, []string{want}, part)
			v := check.Evaluate(o, check.Choice{})
			i := slices.IndexFunc(v.NotChecked, func(n check.NotChecked) bool { return n.Rule == "cluster-not-settled" })
			assert.Truef(t, i >= 0 && strings.Contains(v.NotChecked[i].Why, want), "%s: %+v, %+v", part, v.NotChecked, v.Findings)
		})
	}
}

// A user who cannot read one Secret of a namespace causes no requests for those of a thousand machines.
func TestAPermissionThatIsMissingIsNotRequestedByEveryMachine(t *testing.T) {
	onRanchers(t, func(t *testing.T, s *apitest.Server) {
		var names []string
		for i := range 1000 {
			names = append(names, fmt.Sprintf("m-%04d", i))
		}
		s.Machines = machines(names...)
		s.Fault = always("/secrets/", apitest.Fault{Status: http.StatusForbidden})
		observation(t, s)
		assert.True(t, s.Count("/secrets/") <= 16, s.Count("/secrets/"))
	})
}
