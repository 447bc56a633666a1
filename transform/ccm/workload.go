// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"path"
	"strings"

	"github.com/rke-lm/rke-lm/transform/args"
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
		switch text(d.Root(), "kind") {
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

func (w Workload) isManager() bool { return IsManager(text(w.Container, "image"), w.Args()) }

// IsManager reports whether a container runs the cloud-controller-manager of AWS.
// It goes by the provider that it is given, else by the image: a program of AWS's
// name, or one without any provider's in a repository of AWS's. A registry of AWS
// also holds the images of others.
func IsManager(image string, list []args.Arg) bool {
	name, _, _ := strings.Cut(path.Base(image), ":")
	if !strings.Contains(name, "cloud-controller-manager") {
		return false
	}
	a, set := args.Last(list, "cloud-provider")
	if set {
		return a.Value == "aws"
	}
	return strings.Contains(name, "aws") || name == "cloud-controller-manager" && strings.Contains(image, "aws")
}

// Args returns the manager's arguments; its command may hold some.
func (w Workload) Args() []args.Arg {
	return append(args.Of(w.Container.Get("command").Value()), args.Of(w.Container.Get("args").Value())...)
}

// Migrate queues that the manager takes part in a leader migration, or that it no
// longer does. in is the manifest that holds it.
func (w Workload) Migrate(in *yamledit.Embedded, on bool) error {
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
		u = args.Update{Set: []args.Arg{args.On(LeaderFlag)}}
	}
	list.Apply(in.Edit(w.Index), u)
	return nil
}

// Migrates reports whether the manager takes part in a leader migration.
func (w Workload) Migrates() bool {
	a, on := args.Last(w.Args(), LeaderFlag)
	return on && a.True()
}
