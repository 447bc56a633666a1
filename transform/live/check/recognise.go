// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"path"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// Component names the manager that a container runs, or "" for none. RKE2 runs
// kube-controller-manager from an image of all components, so its command shows it.
func Component(image string, command []string) string {
	if k8s.ParseImage(image).Base() == observed.KubeManager || runs(command, observed.KubeManager) {
		return observed.KubeManager
	}
	if ccm.IsManager(image, args.Command(spoken(command))) {
		return observed.CloudManager
	}
	return ""
}

// Serves reports whether a container in a namespace may be a manager of this cluster.
// Outside kube-system kube-controller-managers are those of clusters that are hosted
// in pods (vcluster, Kamaji, HyperShift), and so is a cloud-controller-manager that
// is sent to an API server by a flag.
func Serves(namespace, component string, command []string) bool {
	if namespace == leadermigration.Namespace {
		return true
	}
	list := args.Command(command)
	return component == observed.CloudManager && !args.Has(list, "kubeconfig") && !args.Has(list, "master")
}

// runs reports whether a command runs a program, by itself, through another one
// that is given its path, or in the script of a shell.
func runs(command []string, program string) bool {
	if scripted(command) {
		return slices.ContainsFunc(command[1:], func(script string) bool { return calls(script, program) })
	}
	for i, item := range command {
		if path.Base(item) == program && (i == 0 || path.IsAbs(item)) {
			return true
		}
	}
	return false
}

// shells are programs whose arguments are a script.
var shells = []string{"sh", "bash", "ash", "dash"}

// scripted reports whether a command is a shell with a script.
func scripted(command []string) bool {
	return len(command) > 0 && slices.Contains(shells, path.Base(command[0]))
}

// spoken returns the words of a command, also those of a shell's script.
func spoken(command []string) []string {
	if !scripted(command) {
		return command
	}
	return strings.Fields(strings.Join(command, " "))
}

// calls reports whether a script runs a program: it is the word where a command
// begins, not one of its arguments.
func calls(script, program string) bool {
	for line := range strings.Lines(script) {
		begins := true
		for _, word := range strings.Fields(line) {
			if begins && path.Base(strings.Trim(word, `"'`)) == program {
				return true
			}
			begins = strings.TrimRight(word, ";&|({") != word || slices.Contains([]string{"exec", "then", "do", "else"}, word) ||
				begins && strings.Contains(word, "=")
		}
	}
	return false
}

// hidden reports whether a command does not show the arguments that its program
// gets: a shell puts them together, or the container's variables do.
func hidden(command []string) bool {
	return scripted(command) || slices.ContainsFunc(telling, func(name string) bool {
		return strings.Contains(args.Value(args.Command(command), name), "$(")
	})
}

// telling are the flags that decide who owns what.
var telling = []string{
	"cloud-provider", "controllers", "configure-cloud-routes", "allocate-node-cidrs", "leader-elect", "leader-elect-resource-name",
	leadermigration.Flag, leadermigration.ConfigFlag,
}

// leasePlace reports where a manager has its leases, where that is not as Leases in
// kube-system; else "".
func (p *Process) leasePlace() string {
	if space := p.value("leader-elect-resource-namespace", leadermigration.Namespace); space != leadermigration.Namespace {
		return "in the namespace " + space
	}
	if lock := p.value("leader-elect-resource-lock", "leases"); !strings.HasSuffix(lock, "leases") {
		return "in " + lock
	}
	return ""
}

// unseen reports whether no lease of kube-system shows who leads, although a leader is elected.
func (p *Process) unseen() bool { return p.Elects && (p.Hidden || p.leasePlace() != "") }

// ConfigFile returns where a manager has its LeaderMigrationConfiguration, or "".
func ConfigFile(command []string) string {
	return args.Value(args.Command(command), leadermigration.ConfigFlag)
}
