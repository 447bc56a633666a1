// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
)

func TestAVerbNeedsWhatTheTableSays(t *testing.T) {
	rke2 := Subject{Kind: transform.Provisioning, Home: "fleet-default", Name: "orchard", ID: "c-m-abcdefgh"}
	rke1 := Subject{Kind: transform.Management, Home: "c-abcde", Name: "c-abcde", ID: "c-abcde"}
	cordoned := rke2
	cordoned.Needs = action.CordonNodes("", "").Needs
	for _, c := range []struct {
		verb string
		of   Subject
		has  []string
		not  string
	}{
		{"plan", rke2, []string{"get clusters.provisioning.cattle.io orchard in fleet-default"}, "patch"},
		{"plan", rke1, []string{"get clusters.management.cattle.io c-abcde"}, "provisioning"},
		{"apply", rke2, []string{"patch clusters.provisioning.cattle.io orchard in fleet-default", "get secrets in fleet-default"}, "list secrets"},
		{"migrate", rke2, []string{"create leases.coordination.k8s.io in fleet-default"}, "etcdbackups"},
		{"migrate", rke2, []string{"list nodes of the cluster c-m-abcdefgh"}, "patch nodes"},
		{"migrate", cordoned, []string{"patch nodes of the cluster c-m-abcdefgh"}, "etcdbackups"},
		{"migrate", rke1, []string{"create etcdbackups.management.cattle.io in c-abcde"}, "secrets"},
		{"leaders", rke2, []string{"list pods in kube-system of the cluster c-m-abcdefgh", "list leases.coordination.k8s.io in kube-system of the cluster c-m-abcdefgh"}, "nodes"},
	} {
		printed := fmt.Sprint(Permissions(c.verb, c.of))
		assert.ContainsAll(t, printed, c.has, c.verb, c.of.Kind.Group)
		assert.Truef(t, !strings.Contains(printed, c.not), "%s of %s needs %q: %s", c.verb, c.of.Kind.Group, c.not, printed)
	}
}

func TestEveryRowIsNeededAndSaysWhy(t *testing.T) {
	for _, r := range Requirements() {
		assert.True(t, len(r.For) != 0 && len(r.Verbs) != 0 && r.Resource != "" && r.Why != "", r)
		for _, verb := range r.For {
			assert.Truef(t, r.Optional || len(Permissions(verb, Subject{Kind: transform.Provisioning})) != 0, "%s needs nothing", verb)
		}
	}
}

func TestNoRowIsThereTwice(t *testing.T) {
	rows := lists.Map(Requirements(), func(r action.Permission) string { return fmt.Sprintf("%+v", r) })
	assert.EqualSlices(t, lists.Distinct(rows), rows)
}

// A run begins without what it continues without.
func TestWhatIsOptionalIsNotNeeded(t *testing.T) {
	for _, verb := range []string{"verify", "migrate", "rollback"} {
		needed := fmt.Sprint(Permissions(verb, Subject{Kind: transform.Provisioning, ID: "c-m-abcdefgh"}))
		assert.Truef(t, !strings.Contains(needed, "list events"), "%s needs %s", verb, needed)
	}
}

func TestARightInOneNamespaceIsWiderInAll(t *testing.T) {
	of := Subject{Kind: transform.Provisioning, Home: "fleet-default", Name: "orchard", ID: "c-m-abcdefgh"}
	wide := fmt.Sprint(WidePermissions("migrate", of))
	want := "[list pods of the cluster c-m-abcdefgh list daemonsets.apps of the cluster c-m-abcdefgh list deployments.apps of the cluster c-m-abcdefgh]"
	assert.True(t, wide == want, wide)
}

// A list of Secrets shows what all clusters in the namespace keep in them.
func TestNoSecretsAreListedOnRanchersOwnCluster(t *testing.T) {
	for _, r := range Requirements() {
		assert.Truef(t, !r.Rancher && r.When != WithLocal || r.Resource != "secrets" || !slices.Contains(r.Verbs, "list"), "%v list secrets: %s", r.For, r.Why)
	}
}

func TestARightOfTwoRowsIsRequestedOnce(t *testing.T) {
	needed := Permissions("migrate", Subject{Kind: transform.Provisioning, Home: "fleet-default", Name: "orchard", Needs: action.Copy(action.CopySecret{}).Needs})
	assert.Equal(t, strings.Count(fmt.Sprint(needed), "get secrets in fleet-default"), 1, needed)
}
