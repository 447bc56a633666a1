// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import "slices"

// Upgrade installs a chart, or brings its release to other values.
func Upgrade(h HelmUpgrade, why string) Action {
	return Action{Why: why, Command: Words(append([]string{"helm"}, h.Args()...)...), Needs: ofHelm, Op: h}
}

// ofHelm is what helm needs for the chart, to install it and to uninstall it. A ClusterRole may be made by those alone
// who hold all that is in it, or may escalate.
var ofHelm = []Permission{
	{For: runs, Of: ManagementGroup, When: WithHelm, Namespace: kubeSystem, Resource: "secrets", Verbs: []string{"get", "list", "create", "update", "patch", "delete"}, Why: "only with helm on the PATH, like those below: its records of the release, with its values"},
	{For: runs, Of: ManagementGroup, When: WithHelm, Namespace: kubeSystem, Resource: "serviceaccounts", Verbs: chartVerbs, Why: "the chart"},
	{For: runs, Of: ManagementGroup, When: WithHelm, Namespace: kubeSystem, Group: "apps", Resource: "daemonsets", Verbs: chartVerbs, Why: "the chart"},
	{For: runs, Of: ManagementGroup, When: WithHelm, Namespace: kubeSystem, Group: rbac, Resource: "rolebindings", Verbs: chartVerbs, Why: "the chart"},
	{For: runs, Of: ManagementGroup, When: WithHelm, Namespace: kubeSystem, Group: rbac, Resource: "roles", Verbs: []string{"bind"}, Why: "the chart binds a role of the cluster"},
	{For: runs, Of: ManagementGroup, When: WithHelm, Group: rbac, Resource: "clusterrolebindings", Verbs: chartVerbs, Why: "the chart"},
	{For: runs, Of: ManagementGroup, When: WithHelm, Group: rbac, Resource: "clusterroles", Verbs: slices.Concat(chartVerbs, []string{"escalate", "bind"}), Why: "the chart"},
}

var chartVerbs = []string{"get", "create", "patch", "delete"}

// Args are the arguments of helm.
func (h HelmUpgrade) Args() []string {
	flags := []string{"--repo", h.Repo, "--version", h.Version, "--namespace", h.Namespace, "--values", Path(h.Values)}
	return Arguments([]string{"upgrade", "--install"}, []string{h.Release, h.Chart}, flags)
}

// Values shows the values of a release before an upgrade replaces them.
func Values(release, namespace, why string) Action {
	return Action{Why: why, Command: Command("helm get values %s --namespace %s", release, namespace), Op: HelmValues{}}
}

// Uninstall takes a release out of the cluster.
func Uninstall(h HelmUninstall, why string) Action {
	return Action{Why: why, Command: Words(append([]string{"helm"}, h.Args()...)...), Needs: ofHelm, Op: h}
}

// Args are the arguments of helm.
func (h HelmUninstall) Args() []string {
	return Arguments([]string{"uninstall"}, []string{h.Release}, []string{"--namespace", h.Namespace})
}
