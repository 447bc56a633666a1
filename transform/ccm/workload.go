// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Workload is a cloud-controller-manager of AWS that a manifest runs without the
// chart.
type Workload struct {
	Index     int           // of its document in the manifest
	Container yamledit.Node // of the manager
}

// FindWorkload returns the first one among the documents of a manifest.
func FindWorkload(docs []*yamledit.Document) (Workload, bool) {
	for i, d := range docs {
		switch d.Root().StringAt("kind") {
		case "DaemonSet", "Deployment":
			for _, c := range d.Root().Get("spec", "template", "spec", "containers").Items() {
				if w := (Workload{i, c}); w.isManager() {
					return w, true
				}
			}
		}
	}
	return Workload{}, false
}

func (w Workload) isManager() bool { return IsManager(w.Container.StringAt("image"), w.Args()) }

// IsManager reports whether a container runs the cloud-controller-manager of AWS,
// by its provider, or else by its image: one whose name says no provider is that of
// the folder or registry it is in. A misspelt aws counts: its manager exits, and is
// to be found.
func IsManager(image string, list []args.Arg) bool {
	const manager = "cloud-controller-manager"
	name := k8s.ParseImage(image).Base()
	if !strings.Contains(name, manager) {
		return false
	}
	if a, set := args.Last(list, "cloud-provider"); set {
		return strings.Contains(strings.ToLower(a.Value), aws.Name)
	}
	if name == manager {
		name = image
	}
	return strings.Contains(name, aws.Name)
}

// Args returns the manager's arguments; its command may hold some.
func (w Workload) Args() []args.Arg {
	return append(args.Of(w.Container.Get("command").Value()), args.Of(w.Container.Get("args").Value())...)
}

// Tag returns the tag of the manager's image.
func (w Workload) Tag() string { return k8s.ParseImage(w.Container.StringAt("image")).Tag }

// Migrate queues that the manager takes part in a leader migration, or that it no
// longer does. in is the manifest that holds it. The timings of its leases come with the flag, and stay.
func (w Workload) Migrate(in *yamledit.Embedded, on, shortLeases bool) error {
	items := 0
	if w.Container.Get("command").IsList() {
		items = 1 // the program
	}
	list, err := args.ReadContainer(w.Container, items)
	if err != nil {
		return err
	}
	u := args.Update{Remove: []string{LeaderFlag}}
	if on {
		u = args.Update{Set: append([]args.Arg{args.On(LeaderFlag)}, leadermigration.Missing(shortLeases, w.Args(), leadermigration.CloudTimings())...)}
	}
	list.Apply(in.Edit(w.Index), u)
	return nil
}

// Migrates reports whether the manager takes part in a leader migration.
func (w Workload) Migrates() bool { return args.Enables(w.Args(), LeaderFlag) }

// RoutesUnsafe reports whether the route controller is on without the range of
// addresses that it needs.
func (w Workload) RoutesUnsafe() bool { return RoutesUnsafe(w.Args()) }

// WrongProvider reports whether the arguments name another provider than aws, as
// the manager spells it: it exits at once. Its default is aws (cloud-provider-aws
// cmd/aws-cloud-controller-manager).
func (w Workload) WrongProvider() bool {
	a, set := args.Last(w.Args(), "cloud-provider")
	return set && a.Value != aws.Name
}
