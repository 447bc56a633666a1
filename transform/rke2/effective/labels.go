// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package effective

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// Registered returns the classes of a cluster whose machines were registered
// by hand: any combination of roles may be there, with any of the sets of labels that LabelSets returns.
// Labels that make no difference to any selector make no class.
func (m *Machines) Registered(sets []map[string]string) (classes []Class) {
	selects := m.selection()
	for _, roles := range []string{"controlplane", "controlplane+worker", "etcd", "etcd+controlplane", "etcd+controlplane+worker", "etcd+worker", "worker"} {
		known := map[string]bool{}
		for _, set := range sets {
			class := registered(roles, set)
			if by := fmt.Sprint(selects(class.Labels)); !known[by] {
				known[by] = true
				classes = append(classes, class)
			}
		}
	}
	return classes
}

func registered(roles string, own map[string]string) Class {
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
func (m *Machines) selection() func(machine map[string]string) []int {
	type label struct{ key, value string }
	all, others, by := m.selectors(), []int(nil), map[label][]int{}
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
		m.Doc.Visit(weight * len(candidates))
		found = slices.DeleteFunc(candidates, func(i int) bool { return !all[i].Matches(labels.Set(machine)) })
		slices.Sort(found)
		return found
	}
}

// selectors are those of all layers, and then those of files.
func (m *Machines) selectors() []labels.Selector {
	return append(lists.Map(m.Layers, func(l Layer) labels.Selector { return l.Selector }), lists.Map(m.Files, func(f File) labels.Selector { return f.Selector })...)
}

// mostSets bounds the combinations of labels that are looked at.
const mostSets = 1024

// LabelSets returns the sets of labels that the command of a registration can give machines of the same
// roles (rancher pkg/controllers/capr/unmanaged) and that selectors distinguish, the empty one first: each
// label that a selector names is absent, has a value that one names, or has another one. Where these are
// too many, they are those of the live machines, and ok is false without any.
func (m *Machines) LabelSets(live *transform.Machines) (sets []map[string]string, ok bool) {
	values := m.namedValues()
	sets = []map[string]string{{}}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if len(sets)*(len(values[key])+1) > mostSets {
			return labelsOf(live, values), live != nil
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

// labelsOf returns the labels of each machine that have named values, after those of a machine
// without labels.
func labelsOf(live *transform.Machines, values map[string][]string) []map[string]string {
	if live == nil {
		return nil
	}
	sets := []map[string]string{{}}
	for _, labels := range *live {
		own := map[string]string{}
		maps.Copy(own, labels)
		maps.DeleteFunc(own, func(key, _ string) bool { return values[key] == nil })
		sets = append(sets, own)
	}
	return sets
}

// fixedLabels follow from a machine's roles and system, or are for pools alone.
var fixedLabels = []string{LabelControlPlane, LabelEtcd, LabelWorker, LabelOS, labelPool, labelDeployment}

// another is the value of a label that no selector names.
const another = "another"

// namedValues returns the values of labels that selectors name, and another one,
// without the labels of roles and systems, and those that only pools have.
func (m *Machines) namedValues() map[string][]string {
	values := map[string][]string{}
	for _, s := range m.selectors() {
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
