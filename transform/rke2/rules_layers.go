// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// layerRules are those about which value reaches which machines.
func layerRules() []rule {
	return []rule{
		// It refuses a document before there is a cluster to check.
		{Rule: transform.Rule{ID: ruleSelectorInvalid, Severity: transform.Error,
			Doc: "A machine selector has an operator or values that Kubernetes refuses, and Rancher then refuses the whole cluster."}.Because(
			"Rancher cannot evaluate the selector and refuses the whole cluster.", "kubernetes/apimachinery pkg/apis/meta/v1/helpers.go", "Use In or NotIn with values, Exists or DoesNotExist without.", "Never; Rancher refuses the cluster.")},
		// The file does not show what Rancher's webhook adds.
		{Rule: transform.Rule{ID: "psact-dropped", Severity: transform.Error, Guards: rules.TheSwitch,
			Doc: "An entry for control planes replaces kube-apiserver-arg, and with it the pod security admission configuration that Rancher's webhook adds to the global list."}.Because(
			"The entry replaces the list to which Rancher's webhook adds the pod security configuration: policies are then off.", "rancher/webhook pkg/resources/provisioning.cattle.io/v1/cluster, v0.3 to v0.6", "Move the arguments to machineGlobalConfig, or repeat admission-control-config-file in the entry.", "If the entry repeats admission-control-config-file, or the policies are enforced in another way."),
			Check: func(m *migration, found *transform.Findings) {
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
			}},
		{Rule: transform.Rule{ID: "args-overwritten", Severity: transform.Warning, Guards: rules.FlagEdits,
			Doc: "An entry of machineSelectorConfig replaces a list of arguments that an earlier location set for the same machines, and arguments are lost. An error where it concerns kube-controller-manager-arg, or another list that the stages edit."}.Because(
			"Lists are not appended: the later list is all that those machines get, and the arguments of the earlier one are gone.", transform.SourcePlanner, "Repeat the lost arguments in the entry, or move all of them to one place.", "If the arguments are meant to be dropped on those machines."),
			Check: func(m *migration, found *transform.Findings) {
				for _, o := range m.Overrides() {
					list := args.Of(o.Later.Value())
					if lost := vanished(args.Of(o.Earlier.Value()), list); len(list) > 0 && len(lost) > 0 && m.isList(o.Later.Key()) {
						found.At(o.Later, "this list replaces "+o.Earlier.Path()+" on the same machines, and these arguments are lost: "+strings.Join(lost, ", "),
							"repeat them here, or remove them there").Severity = m.severity(o.Later.Key())
					}
				}
			}},
		// Machines of a custom cluster can get any label.
		{Rule: transform.Rule{ID: "selector-unmatched", Severity: transform.Warning, Guards: rules.FlagEdits,
			Doc: "An entry of machineSelectorConfig or machineSelectorFiles has a selector that matches the machines of no pool, so that it reaches none."}.Because(
			"The entry has no effect: what it sets, such as an external provider for control planes, reaches no machine.", transform.SourcePlanner, "Select by a label that Rancher gives machines: the role labels rke.cattle.io/NAME-role, or labels of a pool.", "If a pool with the label is added later."),
			Check: func(m *migration, found *transform.Findings) {
				matched := m.Matched(anyClass)
				check := func(entry yamledit.Node, i int) {
					if !matched[i] {
						found.At(entry, "no machine has the labels that this entry selects, so it reaches none",
							"select by the labels that Rancher gives machines, such as "+effective.LabelControlPlane+": \"true\", or add the label to the labels of a pool; or remove the entry")
					}
				}
				for _, l := range m.Layers[1:] {
					check(l.Entry, l.Index)
				}
				for i, f := range m.Files {
					if f.Invalid == nil {
						check(f.Entry, len(m.Layers)+i)
					}
				}
			}},
		{Rule: transform.Rule{ID: "selector-widened", Severity: transform.Error, Guards: rules.FlagEdits,
			Doc: "A field of a machine selector is misspelled: Rancher drops it, and the entry matches more machines than intended."}.Because(
			"Rancher drops the unknown field. What is left is an empty selector, which matches every machine.", transform.SourcePlanner, "Write matchLabels or matchExpressions; `rke-lm lint --fix` does so.", "If the entry is meant for every machine."),
			Check: func(m *migration, found *transform.Findings) {
				for _, l := range m.Layers[1:] {
					for _, s := range misspelt(l.Entry) {
						reach, fix := "every machine", "put it below "+selectorField+", in "+labelsField+" or "+expressionsField
						if l.Selective() {
							reach = "more machines than intended"
						}
						if s.right != "" {
							fix = "name it " + s.right
						}
						found.At(s.field, "Rancher drops this unknown field, so the entry matches "+reach, fix)
					}
				}
			}, Fix: (*migration).spellSelectors},
		{Rule: transform.Rule{ID: "ui-edit-fails", Severity: transform.Warning, Guards: rules.FlagEdits,
			Doc: "machineSelectorConfig is null or empty, or all its entries have a machineLabelSelector: the page of Rancher's UI that edits the cluster fails to load (Rancher 2.7 to 2.9; rancher/dashboard #9529, #9888, #11987)."}.Because(
			"The page in Rancher with which an administrator edits the cluster does not load.", "rancher/dashboard #9529, #9888, #11987", "Add an entry without a selector; `rke-lm lint --fix` does so.", "If no one edits the cluster in the UI, or Rancher is 2.10 or later."),
			Check: func(m *migration, found *transform.Findings) {
				const fails = ": in Rancher 2.7 to 2.9 the page that edits the cluster fails to load"
				at := m.RKEConfig().Get(selectorKey)
				if !at.Exists() || !m.lacksPlainEntry() || !k8s.RancherOf(m.Target.RancherVersion).PlainEntry {
					return
				}
				what, fix := "every entry has a selector", "add an entry - config: {} without a selector"
				if at.IsNull() || at.Len() == 0 {
					what, fix = "there is no entry", "write one entry, - config: {}, or remove the key"
				}
				found.At(at, what+fails, fix)
			}, Fix: (*migration).addPlainEntry},
		// A null is harmless unless it erases something.
		{Rule: transform.Rule{ID: "value-dropped", Severity: transform.Error, Guards: rules.FlagEdits,
			Doc: "A value is a number or a mapping; Rancher keeps only strings, booleans and lists."}.Because(
			"Rancher passes only strings, booleans and lists; the value reaches no machine.", transform.SourcePlanner, "Quote the number, or write a list.", "If the value is meant to have no effect."),
			Check: func(m *migration, found *transform.Findings) {
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
			}},
		{Rule: transform.Rule{ID: "value-erased", Severity: transform.Warning, Guards: rules.FlagEdits,
			Doc: "A later null, number, mapping, [] or empty string erases a value that an earlier location set for the same machines. An error where it concerns kube-controller-manager-arg, or another list that the stages edit."}.Because(
			"The later value overwrites the earlier one and is dropped afterwards, so that the machines have neither.", transform.SourcePlanner, "Remove the empty value, or write the whole list.", "If the value is meant to be erased on those machines."),
			Check: func(m *migration, found *transform.Findings) {
				for _, o := range m.Overrides() {
					if key := o.Later.Key(); !m.isEmpty(key, o.Earlier.Value()) && m.isEmpty(key, o.Later.Value()) {
						found.At(o.Later, "this value is empty, and erases "+o.Earlier.Path()+" on the same machines", "remove the key here, or write the intended value").Severity = m.severity(key)
					}
				}
			}},
		// The webhook loses them as it adds the admission configuration: see k8s.RancherMinor.ArgsKept.
		{Rule: transform.Rule{ID: "webhook-drops-args", Severity: transform.Warning, Guards: rules.FlagEdits,
			Doc: "The cluster has a template for pod security admission. kube-apiserver-arg of machineGlobalConfig has an argument without a value, or a flag several times whose values all count. The webhook of Rancher before 2.11.7, 2.12.3 and 2.13.0 drops the argument, and all but the last one of the flag, with every write."}.Because(
			"Each time the cluster is written, the webhook rewrites the list, and the API server loses the arguments at its next restart.", "rancher/webhook pkg/resources/provisioning.cattle.io/v1/cluster, before Rancher 2.11.7, 2.12.3 and 2.13.0", "Give the argument a value, or set the flag in an entry of machineSelectorConfig.", "If Rancher is 2.11.7, 2.12.3, 2.13.0 or later."),
			Check: func(m *migration, found *transform.Findings) {
				if v := k8s.RancherOf(m.Target.RancherVersion); !m.hasPodSecurity() || v.Since(v.ArgsKept) {
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
			}},
	}
}

// severity is error for the keys that the stages change, else the rule's own.
func (m *migration) severity(key string) transform.Severity {
	if key == managerArgs || m.endState() == transform.EndStateOverride && slices.Contains(componentArgs, key) {
		return transform.Error
	}
	return ""
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
			for _, gate := range lists.Keys(args.Gates([]args.Arg{a})) {
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

// isEmpty reports whether a value is dropped, or means no arguments at all.
func (m *migration) isEmpty(key string, v any) bool {
	kept, ok := m.Release.Keep(true, key, v)
	if list, isList := kept.([]any); isList {
		return len(list) == 0
	}
	return !ok || kept == ""
}

// hasPodSecurity reports whether Rancher adds its pod security admission configuration.
func (m *migration) hasPodSecurity() bool {
	return m.Root.StringAt("spec", "defaultPodSecurityAdmissionConfigurationTemplateName") != ""
}

const (
	admissionFlag = "admission-control-config-file"
	admissionFile = "/etc/rancher/rke2/config/rancher-psact.yaml"
)

// ruleSelectorInvalid refuses a cluster for a selector that Kubernetes refuses.
const ruleSelectorInvalid = "selector-invalid"

const (
	selectorField    = "machineLabelSelector"
	labelsField      = "matchLabels"
	expressionsField = "matchExpressions"
)

// selectorNames are other names under which people look for the selector.
var selectorNames = []string{selectorField, "labelSelector", "machineSelector", "nodeSelector", "selector", "machineLabels", "matchLabel", "matchExpression", labelsField, expressionsField}

// misspelling is a field that Rancher drops, and the one that was meant; "" says
// that it takes more than another name.
type misspelling struct {
	field yamledit.Node
	right string
}

// spellSelectors renames such fields.
func (m *migration) spellSelectors() []transform.Correction {
	all := lists.Flat(m.Layers[1:], func(l effective.Layer) []misspelling { return misspelt(l.Entry) })
	return lists.Found(all, func(s misspelling) (transform.Correction, bool) {
		return func(e *yamledit.Edit) { e.Rename(s.field, s.right) }, s.right != "" && !s.field.Parent().Get(s.right).Exists()
	})
}

// misspelt returns the fields of an entry that were meant to select machines,
// and those inside of such a field: a fix must not uncover more than it corrects.
func misspelt(entry yamledit.Node) []misspelling {
	var list []misspelling
	for _, e := range entry.Entries() {
		switch {
		case e.Key == selectorField:
			list = append(list, misspeltParts(e.Value)...)
		case e.Key == "config" || !namesSelector(e.Key):
		case strings.HasPrefix(e.Key, "match") || !e.Value.IsMap():
			list = append(list, misspelling{e.Value, ""})
		default:
			list = append(list, misspelling{e.Value, selectorField})
			list = append(list, misspeltParts(e.Value)...)
		}
	}
	return list
}

func misspeltParts(selector yamledit.Node) []misspelling {
	return lists.Found(selector.Entries(), func(e yamledit.Entry) (misspelling, bool) {
		return misspelling{e.Value, selectorPart(e)}, e.Key != labelsField && e.Key != expressionsField
	})
}

func namesSelector(key string) bool {
	return slices.ContainsFunc(selectorNames, func(name string) bool {
		return args.Distance(strings.ToLower(key), strings.ToLower(name)) <= 2
	})
}

// selectorPart returns the part of a selector that a field was meant to be: by
// its name, as long as its kind is right.
func selectorPart(e yamledit.Entry) string {
	const slips = 4
	key := strings.ToLower(e.Key)
	switch {
	case e.Value.IsMap() && args.Distance(key, strings.ToLower(labelsField)) <= slips:
		return labelsField
	case e.Value.IsList() && args.Distance(key, strings.ToLower(expressionsField)) <= slips:
		return expressionsField
	}
	return ""
}

// Rancher's interface reads the provider off the first entry of
// machineSelectorConfig without a selector (rancher/dashboard,
// shell/models/provisioning.cattle.io.cluster.js), and versions up to 2.9 fail
// where there is none: see k8s.RancherMinor.PlainEntry.

// plainEntry is an entry for all machines that sets nothing.
var plainEntry = yamledit.Map{{Key: "config", Value: yamledit.Map{}}}

// lacksSelector reports whether the interface takes an entry for one without a selector:
// an empty selector matches every machine as well, and is none of them.
func lacksSelector(l effective.Layer) bool {
	at := l.Entry.Get(selectorField)
	return !l.Global() && (!at.Exists() || at.IsNull())
}

func (m *migration) lacksPlainEntry() bool { return !slices.ContainsFunc(m.Layers, lacksSelector) }

// addPlainEntry changes nothing for any machine.
func (m *migration) addPlainEntry() []transform.Correction {
	at := m.RKEConfig().Get(selectorKey)
	if !at.Exists() || !m.lacksPlainEntry() {
		return nil
	}
	return []transform.Correction{func(e *yamledit.Edit) {
		if at.IsNull() || at.Len() == 0 {
			e.Set(at, []any{plainEntry})
		} else {
			e.Append(at, plainEntry)
		}
	}}
}
