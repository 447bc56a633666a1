// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

// generated is the head of files that are made from the table of permissions.
const generated = "Generated from transform/live/rollout. To change it, change the table and run make generate."

// TestDocsDeployTheLeastRoles holds the roles of deploy/ to the table of permissions.
func TestDocsDeployTheLeastRoles(t *testing.T) {
	for file, should := range map[string]string{
		"deploy/chart/templates/roles.yaml": chartRoles(),
		"deploy/downstream-rke2.yaml":       downstreamRoles(action.ProvisioningGroup),
		"deploy/downstream-rke1.yaml":       downstreamRoles(action.ManagementGroup),
		"deploy/downstream-rke1-helm.yaml":  downstreamRoles(action.ManagementGroup, action.WithHelm),
	} {
		checkDoc(t, file, readDoc(t, file), should)
	}
}

// ofController are the rows of the controller and of the runs that it makes. It restarts no machines, and has helm only
// in an image of its own, where more is needed.
func ofController(fits func(action.Permission) bool, more ...string) []action.Permission {
	return slices.DeleteFunc(rollout.Requirements(), func(r action.Permission) bool {
		its := slices.ContainsFunc(r.For, func(verb string) bool { return slices.Contains([]string{"controller", "migrate", "rollback"}, verb) })
		list := slices.Contains(r.For, "status") && r.Rancher && !r.Optional // clusters by their labels
		left := slices.Contains([]string{action.WithHelm, action.WithRestartCommand, rollout.WithLocal}, r.When) && !slices.Contains(more, r.When)
		return !its && !list || left || !fits(r)
	})
}

// chartRoles are the roles in Rancher's own cluster, as a template of Helm.
func chartRoles() string {
	in := func(namespace string, kinds ...string) []action.Permission {
		return ofController(func(r action.Permission) bool {
			return r.Rancher && r.Namespace == namespace && slices.Contains(kinds, r.Of)
		})
	}
	all, rke2, rke1 := "", action.ProvisioningGroup, action.ManagementGroup
	var b strings.Builder
	b.WriteString("{{- /* " + generated + " */ -}}\n")
	b.WriteString(templated("ClusterRole", "", in("", all, rke2), "{{- with .Values.rke1Clusters }}\n"+named(in("", rke1))+"{{- end }}\n"))
	b.WriteString(templated("Role", "{{ .Release.Namespace }}", in("rke-lm", all), ""))
	b.WriteString("{{- range .Values.clusterNamespaces }}\n" + inRange(templated("Role", "{{ . }}", in(action.Home, all, rke2), "")) + "{{- end }}\n")
	b.WriteString("{{- range .Values.rke1Clusters }}\n" + inRange(templated("Role", "{{ . }}", in(action.Home, all, rke1), "")) + "{{- end }}\n")
	b.WriteString("{{- if .Values.rke1Clusters }}\n" + templated("Role", "default", in("default", rke1), "") + "{{- end }}\n")
	return b.String()
}

// named are the rules about objects without a namespace, for the clusters of RKE1 that are named.
func named(rows []action.Permission) (text string) {
	for _, r := range granting(rows, "") {
		if r.Name != action.Own {
			continue // the gate, which all have
		}
		r.Name = ""
		text += strings.Replace(rule(r, r.Of), "    verbs:", "    resourceNames: {{ toJson . }}\n    verbs:", 1)
	}
	return text
}

// inRange writes the root of the values in a loop.
func inRange(text string) string {
	return strings.NewReplacer(".Release", "$.Release", ".Values", "$.Values", "labels\" .", "labels\" $").Replace(text)
}

// templated is a role for the user of the token, with more rules, and its binding.
func templated(kind, namespace string, rows []action.Permission, more string) string {
	at := ""
	if namespace != "" {
		at = "\n  namespace: " + namespace
	}
	meta := "  name: {{ .Release.Name }}" + at + "\n  labels:\n    {{- include \"rke-lm.labels\" . | nindent 4 }}\n"
	for i := range rows {
		if rows[i].Name == action.Own || rows[i].Name == action.ID {
			rows[i].Name = "" // of all clusters there
		}
	}
	return bound(kind, meta, "{{ .Release.Name }}", "{{ .Values.rancher.user }}", rows, more)
}

// bound is a role and its binding.
func bound(kind, meta, name, user string, rows []action.Permission, more string) string {
	text := "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "\nmetadata:\n" + meta + "rules:\n"
	for _, r := range granting(rows, rows[0].Namespace) {
		text += rule(r, r.Of)
	}
	return text + more + "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "Binding\nmetadata:\n" + meta +
		"roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: " + kind + "\n  name: " + name +
		"\nsubjects:\n  - apiGroup: rbac.authorization.k8s.io\n    kind: User\n    name: " + user + "\n"
}

// downstreamRoles are the roles in a cluster that is migrated, with more than all images need.
func downstreamRoles(kind string, more ...string) string {
	in := func(namespace string) []action.Permission {
		return ofController(func(r action.Permission) bool {
			return !r.Rancher && r.Namespace == namespace && (r.Of == "" || r.Of == kind)
		}, more...)
	}
	return "# " + generated + "\n# Replace u-abcde with the Rancher user of the controller's token.\n" +
		bound("ClusterRole", "  name: rke-lm\n", "rke-lm", "u-abcde", in(""), "") +
		bound("Role", "  name: rke-lm\n  namespace: kube-system\n", "rke-lm", "u-abcde", in("kube-system"), "")
}
