// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package action

// Upgrade installs a chart, or brings its release to other values.
func Upgrade(h HelmUpgrade, why string) Action {
	return Action{Why: why, Command: Words(append([]string{"helm"}, h.Args()...)...), Needs: NeedsHelm, Op: h}
}

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
	return Action{Why: why, Command: Words(append([]string{"helm"}, h.Args()...)...), Op: h}
}

// Args are the arguments of helm.
func (h HelmUninstall) Args() []string {
	return Arguments([]string{"uninstall"}, []string{h.Release}, []string{"--namespace", h.Namespace})
}
