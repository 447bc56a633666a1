// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// customClasses returns the classes of a cluster whose machines were registered
// by hand: any combination of roles may be there, with any of the labels that the
// command of the registration can give them (rancher pkg/controllers/capr/unmanaged).
// Labels that make no difference to any selector make no class. Where selectors match
// too many of them, the labels of the machines are those that there are.
func (c *Cluster) customClasses(at yamledit.Node, machines *transform.Machines) ([]Class, error) {
	own, possible := c.possibleLabels()
	switch {
	case possible:
	case machines == nil:
		return nil, at.Errorf("its selectors match so many labels that the machine classes cannot be determined", "let the selectors match roles, or fewer labels; or name the live cluster, with --context and --cluster")
	default:
		own = c.labelsOf(*machines)
	}
	var classes []Class
	selects := c.selection()
	for _, roles := range []string{
		"controlplane", "controlplane+worker",
		"etcd", "etcd+controlplane", "etcd+controlplane+worker", "etcd+worker",
		"worker",
	} {
		known := map[string]bool{}
		for _, set := range own {
			class := customClass(roles, set)
			if by := fmt.Sprint(selects(class.Labels)); !known[by] {
				known[by] = true
				classes = append(classes, class)
			}
		}
	}
	return classes, nil
}

func customClass(roles string, own map[string]string) Class {
	is := func(role string) bool { return slices.Contains(strings.Split(roles, "+"), role) }
	all := maps.Clone(own)
	all[LabelOS] = "linux"
	setRoles(all, is("etcd"), is("controlplane"), is("worker"))
	name := roles
	for _, key := range slices.Sorted(maps.Keys(own)) {
		name += " " + key + "=" + own[key]
	}
	return Class{Name: name, Labels: all}
}

// selection returns what finds the selectors that match a machine, in their order. One that requires a
// value of a label is looked up by it.
func (c *Cluster) selection() func(machine map[string]string) []int {
	type label struct{ key, value string }
	all, others, by := slices.Collect(c.selectors()), []int(nil), map[label][]int{}
	for i, s := range all {
		requirements, _ := s.Requirements()
		one := slices.IndexFunc(requirements, func(r labels.Requirement) bool {
			return slices.Contains([]selection.Operator{selection.In, selection.Equals}, r.Operator())
		})
		if one < 0 {
			others = append(others, i)
			continue
		}
		for value := range requirements[one].Values() {
			at := label{requirements[one].Key(), value}
			by[at] = append(by[at], i)
		}
	}
	return func(machine map[string]string) (found []int) {
		candidates := slices.Clone(others)
		for key, value := range machine {
			candidates = append(candidates, by[label{key, value}]...)
		}
		c.Doc.Visit(weight * len(candidates))
		found = slices.DeleteFunc(candidates, func(i int) bool { return !all[i].Matches(labels.Set(machine)) })
		slices.Sort(found)
		return found
	}
}

// selectors are those of all layers, and then those of files.
func (c *Cluster) selectors() iter.Seq[labels.Selector] {
	return func(yield func(labels.Selector) bool) {
		for _, l := range c.Layers {
			if !yield(l.selector) {
				return
			}
		}
		for _, f := range c.Files {
			if !yield(f.selector) {
				return
			}
		}
	}
}

// mostSets bounds the combinations of labels that are looked at.
const mostSets = 1024

// possibleLabels returns the sets of labels that distinguish machines of the same roles,
// the empty one first: each label that a selector names is absent, has a value
// that one names, or has another one. It fails where there are too many.
func (c *Cluster) possibleLabels() (sets []map[string]string, ok bool) {
	values := c.namedValues()
	sets = []map[string]string{{}}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if len(sets)*(len(values[key])+1) > mostSets {
			return nil, false
		}
		for _, set := range sets[:len(sets):len(sets)] {
			for _, value := range values[key] {
				with := maps.Clone(set)
				with[key] = value
				sets = append(sets, with)
			}
		}
	}
	return sets, true
}

// labelsOf returns the labels that selectors name of each machine, after those of a machine
// without labels.
func (c *Cluster) labelsOf(machines transform.Machines) []map[string]string {
	values := c.namedValues()
	sets := []map[string]string{{}}
	for _, labels := range machines {
		own := map[string]string{}
		for key := range values {
			if value, has := labels[key]; has {
				own[key] = value
			}
		}
		sets = append(sets, own)
	}
	return sets
}

// byMachines reports whether only the machines of a cluster show its classes.
func byMachines(doc *yamledit.Document) bool {
	if doc.Root().Get("spec", "rkeConfig", "machinePools").Len() > 0 {
		return false
	}
	c, err := describe(doc, "")
	if err != nil {
		return false
	}
	_, possible := c.possibleLabels()
	return !possible
}

// fixedLabels follow from a machine's roles and system, or are for pools alone.
var fixedLabels = []string{LabelControlPlane, LabelEtcd, LabelWorker, LabelOS, labelPool, labelDeployment}

// another is the value of a label that no selector names.
const another = "another"

// namedValues returns the values of labels that selectors name, and another one,
// without the labels of roles and systems, and those that only pools have.
func (c *Cluster) namedValues() map[string][]string {
	values := map[string][]string{}
	for s := range c.selectors() {
		requirements, _ := s.Requirements()
		for _, r := range requirements {
			if !slices.Contains(fixedLabels, r.Key()) {
				values[r.Key()] = append(values[r.Key()], r.ValuesUnsorted()...)
			}
		}
	}
	for key, list := range values {
		slices.Sort(list)
		values[key] = append(slices.Compact(list), another)
	}
	return values
}
