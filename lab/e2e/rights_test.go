// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/deploy"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

// leastUser may do what the documentation says that a verb needs.
const leastUser = "user-least"

// block is a part of a verb's documentation: where its roles are for, and the roles.
var block = regexp.MustCompile("(?s)On (Rancher's own cluster|the cluster itself)(?:, (?:for an|of) (RKE1|RKE2)(?: cluster)?)?:\n\n```yaml\n(.*?)```")

// least makes the runs to come those of a user who has the documented roles of the given verbs and nothing
// else.
func (c *managed) least(verbs ...string) {
	c.Helper()
	format := map[bool]string{true: "RKE1", false: "RKE2"}[c.engine()]
	grants{c.rancher.Local, format, c.downstream.Name, c.downstream.ID, leastUser}.bind(c.scenario, verbs...)
	c.token = c.rancher.TokenOf(leastUser)
}

// grants are the documented roles for a cluster, and whom they are for.
type grants struct {
	local                  *cluster.Cluster // Rancher's own
	format, name, id, user string
}

// bind binds the user to the roles of verbs, on both clusters.
func (g grants) bind(c *scenario, verbs ...string) {
	c.Helper()
	text := assert.Value(os.ReadFile(filepath.Join("..", "..", "docs", "permissions.md")))(c)
	for _, verb := range verbs {
		_, rest, _ := strings.Cut(string(text), "<!-- "+verb+" -->")
		section, _, found := strings.Cut(rest, "<!-- /"+verb+" -->")
		if !found {
			c.Fatalf("docs/permissions.md has no roles for %s", verb)
		}
		sides := map[string]bool{}
		for _, b := range block.FindAllStringSubmatch(section, -1) {
			if b[2] != "" && b[2] != g.format {
				continue
			}
			on := c.cluster
			if b[1] == "Rancher's own cluster" {
				on = g.local
			}
			if on != nil { // one that is simulated lets every user do everything
				g.make(c, on, b[3])
			}
			sides[b[1]] = true
		}
		if len(sides) != 2 && verb != "controller" {
			c.Fatalf("docs/permissions.md has roles of %s for %v alone", verb, sides)
		}
	}
}

// make makes roles, with placeholders for the cluster, and binds the user to them.
func (g grants) make(c *scenario, on *cluster.Cluster, roles string) {
	c.Helper()
	to := assert.Value(deploy.NewApplier(on.Config(cluster.Admin)))(c)
	filled := strings.NewReplacer("<namespace>", "fleet-default", "<name>", g.name, "<id>", g.id).Replace(roles)
	for _, text := range strings.Split(filled, "---\n") {
		var role rbacv1.Role
		assert.NilError(c, yaml.Unmarshal([]byte(text), &role))
		documented := role.Name
		role.Name += "-" + g.name // there may be several clusters
		binding := fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: %[1]sBinding\nmetadata: {name: %[2]s, namespace: %[3]q}\n"+
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %[1]s, name: %[2]s}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[4]s}]\n",
			role.Kind, role.Name, role.Namespace, g.user)
		for _, object := range []string{strings.Replace(text, "  name: "+documented+"\n", "  name: "+role.Name+"\n", 1), binding} {
			assert.NilError(c, to.Apply(c.Context(), []byte(object)))
		}
	}
}

// spared reports whether no request of an undisturbed run shows the use of a right: Events are read while a Service
// is pending for minutes, helm patches what another version of the chart left, and kube-apiserver itself asks for
// what a role may give, and for the creation of what is applied and does not exist.
func spared(r rollout.Access) bool {
	switch r.Verb {
	case "bind", "escalate":
		return true
	case "create":
		return r.Resource == "namespaces" || r.Resource == "services"
	case "patch":
		return strings.HasPrefix(r.Resource, "clusterrole") || r.Resource == "serviceaccounts"
	}
	return r.Resource == "events" && r.Verb == "list"
}

// usedAll requires that requests made use of all that the documentation requires, for both ways.
func (c *managed) usedAll() {
	c.Helper()
	of := rollout.Subject{Kind: transform.Provisioning, Home: rancher.Namespace, Name: c.downstream.Name, ID: c.downstream.ID, When: []string{rollout.WithCanaryService}, Needs: action.CordonNodes("", "").Needs}
	if c.engine() {
		of = rollout.Subject{Kind: transform.Management, Home: c.downstream.ID, Name: c.downstream.ID, ID: c.downstream.ID, When: []string{action.WithHelm, rollout.WithCanaryService},
			Needs: slices.Concat(action.Upgrade(action.HelmUpgrade{}, "").Needs, action.Create(action.SecretFromFile{}, "").Needs)}
	}
	needed := slices.Concat(rollout.Permissions("migrate", of), rollout.Permissions("rollback", of))
	needed = slices.DeleteFunc(needed, spared)
	if unused := rancher.Unused(needed, c.rancher.Requests()); len(unused) > 0 {
		c.Errorf("of %d rights no request made use of %v", len(needed), unused)
	}
}
