// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"fmt"
	"time"

	"github.com/rke-lm/rke-lm/transform/shell"
)

// RolloutTime is how long a change may take to reach every machine before something is
// wrong: every wait has it, unless the operator sets another one.
const RolloutTime = time.Hour

// ClusterSettled waits, on Rancher's own cluster, until every machine has taken
// over the last change of a cluster. The conditions of the Cluster object are
// copies and lag.
type ClusterSettled struct{ Namespace, Name string }

// Purpose implements Action.
func (ClusterSettled) Purpose() string {
	return "on Rancher's own cluster, wait until every machine has applied the change"
}

// Command implements Action.
func (a ClusterSettled) Command() string {
	return shell.Line("kubectl -n %s wait rkecontrolplanes.rke.cattle.io/%s --for=condition=Reconciled --timeout=%s", a.Namespace, a.Name, fmt.Sprintf("%dm", RolloutTime/time.Minute))
}

// CordonAnnotation is on the nodes that rke-lm cordoned; only these are released.
const CordonAnnotation = "rke-lm.io/cordoned"

// Cordon makes the nodes unschedulable that a selector matches and that are not
// so already, and marks them with Run.
type Cordon struct{ Selector, Run string }

// Purpose implements Action.
func (Cordon) Purpose() string {
	return "cordon the control planes that are not cordoned yet, and annotate them"
}

// Command implements Action.
func (a Cordon) Command() string {
	return shell.Line(`for node in $(kubectl get nodes -l %s --field-selector spec.unschedulable!=true -o name); do kubectl annotate --overwrite "$node" %s=%s && kubectl cordon "$node"; done`,
		a.Selector, CordonAnnotation, a.Run)
}

// Uncordon releases the nodes that carry the mark of Run.
type Uncordon struct{ Run string }

// Purpose implements Action.
func (Uncordon) Purpose() string { return "uncordon exactly the nodes that have the annotation" }

// Command implements Action.
func (a Uncordon) Command() string {
	return shell.Line(`for node in $(kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.name}{" "}{.metadata.annotations.rke-lm\.io/cordoned}{"\n"}{end}' | awk -v run=%s '$2 == run {print $1}'); do kubectl uncordon "$node" && kubectl annotate "node/$node" %s-; done`,
		a.Run, CordonAnnotation)
}

// HelmUpgrade installs a chart, or brings its release to other values.
type HelmUpgrade struct{ Release, Chart, Repo, Version, Namespace, Values, Why string }

// Purpose implements Action.
func (a HelmUpgrade) Purpose() string { return a.Why }

// Args are the arguments of helm.
func (a HelmUpgrade) Args() []string {
	flags := []string{"--repo", a.Repo, "--version", a.Version, "--namespace", a.Namespace, "--values", shell.Path(a.Values)}
	return shell.Arguments([]string{"upgrade", "--install"}, []string{a.Release, a.Chart}, flags)
}

// Command implements Action.
func (a HelmUpgrade) Command() string { return shell.Words(append([]string{"helm"}, a.Args()...)...) }

// HelmValues shows a person the values of a release before an upgrade replaces them. A run does not
// carry it out: it compares them itself.
type HelmValues struct{ Release, Namespace, Why string }

// Purpose implements Action.
func (a HelmValues) Purpose() string { return a.Why }

// Command implements Action.
func (a HelmValues) Command() string {
	return shell.Line("helm get values %s --namespace %s", a.Release, a.Namespace)
}

// HelmUninstall takes a release out of the cluster.
type HelmUninstall struct{ Release, Namespace, Why string }

// Purpose implements Action.
func (a HelmUninstall) Purpose() string { return a.Why }

// Args are the arguments of helm.
func (a HelmUninstall) Args() []string {
	return shell.Arguments([]string{"uninstall"}, []string{a.Release}, []string{"--namespace", a.Namespace})
}

// Command implements Action.
func (a HelmUninstall) Command() string { return shell.Words(append([]string{"helm"}, a.Args()...)...) }

// Delete deletes objects that nothing else takes out of the cluster.
type Delete struct{ Namespace, Kinds, Name, Why string }

// Purpose implements Action.
func (a Delete) Purpose() string { return a.Why }

// Command implements Action.
func (a Delete) Command() string {
	return shell.Line("kubectl -n %s delete --ignore-not-found %--%s %s", a.Namespace, a.Kinds, a.Name)
}

// SecretFromFile puts a file into a Secret, as one key of its own.
type SecretFromFile struct{ Namespace, Name, Key, File, Why string }

// Purpose implements Action.
func (a SecretFromFile) Purpose() string { return a.Why }

// Command implements Action.
func (a SecretFromFile) Command() string {
	return shell.Line("kubectl -n %s create secret generic --from-file=%s=%s --dry-run=client -o yaml %--%s | kubectl apply -f -",
		a.Namespace, a.Key, a.File, a.Name)
}

// Gone looks for objects that should have left the cluster with their manifest.
// Rancher does not always delete them (rancher/rancher #36068).
type Gone struct{ Namespace, Kinds, Name string }

// Purpose implements Action.
func (Gone) Purpose() string {
	return "this must list nothing; delete manually what it lists, because it is still running"
}

// Command implements Action.
func (a Gone) Command() string {
	return shell.Line("kubectl -n %s get --ignore-not-found %--%s %s", a.Namespace, a.Kinds, a.Name)
}
