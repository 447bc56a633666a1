// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
)

// severity is error for the keys that the stages change, else the rule's own.
func (m *migration) severity(key string) transform.Severity {
	if key == managerArgs || m.endState() == transform.EndStateOverride && slices.Contains(componentArgs, key) {
		return transform.Error
	}
	return ""
}

// argsOverwritten compares each location of a list with those before it.
func (m *migration) argsOverwritten(found *transform.Findings) {
	for _, o := range m.Overrides() {
		list := args.Of(o.Later.Value())
		if lost := vanished(args.Of(o.Earlier.Value()), list); len(list) > 0 && len(lost) > 0 && m.isList(o.Later.Key()) {
			found.At(o.Later, "this list replaces "+o.Earlier.Path()+" on the same machines, and these arguments are lost: "+strings.Join(lost, ", "),
				"repeat them here, or remove them there").Severity = m.severity(o.Later.Key())
		}
	}
}

// vanished names the arguments of a list that one after it does not repeat. Of
// feature gates, which add up, the gates count.
func vanished(earlier, later []args.Arg) []string {
	kept := args.Gates(later)
	var lost []string
	for _, a := range earlier {
		switch {
		case !args.Has(later, a.Name):
			lost = append(lost, shown(a))
		case a.Name == args.GatesFlag:
			for _, gate := range slices.Sorted(maps.Keys(args.Gates([]args.Arg{a}))) {
				if _, there := kept[gate]; !there {
					lost = append(lost, args.GatesFlag+" "+gate)
				}
			}
		}
	}
	return lost
}

// flagName is what the name of a flag looks like.
var flagName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// shown returns the name of an argument; what is no name may be a secret.
func shown(a args.Arg) string {
	if flagName.MatchString(a.Name) {
		return a.Name
	}
	return "(one without a name)"
}

// isList reports whether a key takes a list of arguments.
func (m *migration) isList(key string) bool {
	t, _ := m.Release.Type(key)
	return t == "array"
}

// valueErased finds values that count as empty and come after a valid one.
func (m *migration) valueErased(found *transform.Findings) {
	for _, o := range m.Overrides() {
		if key := o.Later.Key(); !m.isEmpty(key, o.Earlier.Value()) && m.isEmpty(key, o.Later.Value()) {
			found.At(o.Later, "this value is empty, and erases "+o.Earlier.Path()+" on the same machines", "remove the key here, or write the intended value").Severity = m.severity(key)
		}
	}
}

// isEmpty reports whether a value is dropped, or means no arguments at all.
func (m *migration) isEmpty(key string, v any) bool {
	kept, ok := m.Release.Keep(true, key, v)
	if list, isList := kept.([]any); isList {
		return len(list) == 0
	}
	return !ok || kept == ""
}

// valueDropped finds values of a kind that Rancher gives no machine. A null
// is harmless unless it erases something.
func (m *migration) valueDropped(found *transform.Findings) {
	for _, e := range m.Written() {
		kind := effective.Unfit(e.Value.Value())
		if _, known := m.Release.Type(e.Key); !known || kind == "" || kind == "null" {
			continue
		}
		fix := "write a string, in quotes"
		if m.isList(e.Key) {
			fix = "write a list of strings"
		}
		found.At(e.Value, kind+", which Rancher drops: only strings, booleans and lists reach a machine", fix)
	}
}

// podSecurityDropped finds entries that replace the list to which Rancher's
// webhook adds the admission configuration; the file itself does not show it.
func (m *migration) podSecurityDropped(found *transform.Findings) {
	if !m.hasPodSecurity() {
		return
	}
	for _, n := range m.Winners(apiServerArgs, effective.Class.ControlPlane) {
		if !args.Has(args.Of(n.Value()), admissionFlag) && !n.Same(m.Layers[0].Get(apiServerArgs)) {
			found.At(n,
				"this list replaces the global one, to which Rancher adds the pod security admission configuration of the cluster: control planes lose it",
				"move the arguments to machineGlobalConfig, or add "+admissionFlag+"="+admissionFile+" here")
		}
	}
}

// webhookDropsArgs finds arguments of kube-apiserver that Rancher's webhook loses as it
// adds the admission configuration: see k8s.RancherMinor.ArgsKept.
func (m *migration) webhookDropsArgs(found *transform.Findings) {
	if v := k8s.RancherOf(m.target.RancherVersion); !m.hasPodSecurity() || v.Since(v.ArgsKept) {
		return
	}
	list := args.Place(m.Layers[0].Get(apiServerArgs))
	for i, a := range list {
		repeats := func(b args.Arg) bool { return b.Name == a.Name }
		var what string
		switch {
		case !strings.Contains(a.Node().StringAt(), "="):
			what = "an argument without a value"
		case args.Accumulates(a.Name) && slices.ContainsFunc(list[i+1:], repeats):
			what = a.Name + " again below"
		default:
			continue
		}
		found.At(a.Node(),
			what+": the webhook of Rancher before "+k8s.FirstRancher(func(r k8s.RancherMinor) string { return r.ArgsKept })+" drops it when the cluster is written, because the cluster has a template for pod security admission",
			"write every flag once and with a value, such as NAME=true; or set --rancher-version if yours is a later one")
	}
}

// hasPodSecurity reports whether Rancher adds its pod security admission configuration.
func (m *migration) hasPodSecurity() bool {
	return m.Root.StringAt("spec", "defaultPodSecurityAdmissionConfigurationTemplateName") != ""
}

const (
	admissionFlag = "admission-control-config-file"
	admissionFile = "/etc/rancher/rke2/config/rancher-psact.yaml"
)
