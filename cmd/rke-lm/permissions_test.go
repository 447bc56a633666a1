// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

// verbRoles are the roles that each verb needs, as docs/permissions.md has them.
func verbRoles() map[string]string {
	all := map[string]string{}
	for _, c := range newRoot(streams{}).Commands() {
		if roles := rolesOf(c.Name()); roles != "" {
			all[c.Name()] = roles
		}
	}
	return all
}

func TestPermissionsAreOfVerbs(t *testing.T) {
	for _, r := range rollout.Requirements() {
		for _, verb := range r.For {
			c, _, err := newRoot(streams{}).Find([]string{verb})
			assert.Truef(t, err == nil && c.Name() == verb, "%s is no verb", verb)
		}
	}
}

// rolesOf writes the roles that a verb needs, one block for each cluster.
func rolesOf(verb string) string {
	var b strings.Builder
	for _, part := range []struct {
		title      string
		kind       string
		downstream bool
	}{
		{"On Rancher's own cluster, for an RKE2 cluster:", action.ProvisioningGroup, false},
		{"On Rancher's own cluster, for an RKE1 cluster:", action.ManagementGroup, false},
		{"On the cluster itself, of RKE2:", action.ProvisioningGroup, true},
		{"On the cluster itself, of RKE1:", action.ManagementGroup, true},
	} {
		text, title := roles(verb, part.kind, part.downstream), part.title
		if roles(verb, action.ProvisioningGroup, part.downstream) == roles(verb, action.ManagementGroup, part.downstream) {
			if part.kind == action.ManagementGroup {
				continue
			}
			title, _, _ = strings.Cut(title, ",")
			title += ":"
		}
		if text != "" {
			writeBlock(&b, title, text)
		}
	}
	if rows := rowsFor(verb, "", func(r action.Permission) bool { return r.When == rollout.WithLocal }); len(rows) > 0 {
		writeBlock(&b, "On Rancher's own cluster if it is the one to verify, in addition to those for the cluster itself:", rolesWith(verb, "", rows))
	}
	return b.String()
}

func writeBlock(b *strings.Builder, title, text string) {
	fmt.Fprintf(b, "%s\n\n```yaml\n%s```\n\n", title, text)
}

func rowsFor(verb string, kind string, fits func(action.Permission) bool) []action.Permission {
	return slices.DeleteFunc(rollout.Requirements(), func(r action.Permission) bool {
		return !fits(r) || !r.Needed(verb, kind)
	})
}

func roles(verb string, kind string, downstream bool) string {
	return rolesWith(verb, kind, rowsFor(verb, kind, func(r action.Permission) bool { return !r.Rancher == downstream && r.When != rollout.WithLocal }))
}

// rolesWith writes a ClusterRole, and a Role for each namespace.
func rolesWith(verb string, kind string, rows []action.Permission) string {
	var namespaces, texts []string
	for _, r := range rows {
		if !slices.Contains(namespaces, r.Namespace) {
			namespaces = append(namespaces, r.Namespace)
		}
	}
	slices.Sort(namespaces)
	for _, n := range namespaces {
		role, in := "ClusterRole", ""
		if n != "" {
			role, in = "Role", "\n  namespace: "+home(n, kind)
		}
		name := verb
		if rows[0].When == rollout.WithLocal {
			name += "-" + rollout.WithLocal
		}
		text := fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata:\n  name: rke-lm-%s%s\nrules:\n", role, name, in)
		for _, r := range granting(rows, n) {
			text += rule(r, kind)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "---\n")
}

// granting returns the rows of a namespace, each with what no row before it grants.
func granting(rows []action.Permission, namespace string) (list []action.Permission) {
	granted := map[rollout.Access]bool{}
	for _, r := range rows {
		if r.Namespace != namespace {
			continue
		}
		var more []string
		for _, do := range r.Verbs {
			right := rollout.Access{Group: r.Group, Resource: r.Resource, Name: r.Name, Verb: do}
			if !granted[right] {
				granted[right], more = true, append(more, do)
			}
		}
		if r.Verbs = more; len(more) > 0 {
			list = append(list, r)
		}
	}
	return list
}

func home(namespace string, kind string) string {
	if namespace == action.Home && kind == action.ManagementGroup {
		return "<id>"
	}
	return namespace
}

func rule(r action.Permission, kind string) string {
	text := fmt.Sprintf("  - apiGroups: [%s] # %s\n    resources: [%s]\n", cmp.Or(r.Group, `""`), strings.ReplaceAll(r.Why, "`", ""), r.Resource)
	if r.Name != "" {
		name := r.Name
		if name == action.Own && kind == action.ManagementGroup {
			name = "<id>"
		}
		text += "    resourceNames: [" + name + "]\n"
	}
	return text + "    verbs: [" + strings.Join(r.Verbs, ", ") + "]\n"
}
