// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// argumentRules are those about the keys and arguments of the machine configuration.
func argumentRules() []rule {
	return []rule{
		{Rule: transform.Rule{ID: "config-misindented", Severity: transform.Error, Guards: rules.FlagEdits,
			Doc: "Arguments are at the level of config or machineGlobalConfig instead of below it; Rancher silently drops them."}.Because(
			"Keys next to config instead of below it are unknown fields, which Rancher drops: the machines get none of them.", transform.SourcePlanner, "Indent them; `rke-lm lint --fix` does so.", "If the keys are meant to have no effect."),
			Check: func(m *migration, found *transform.Findings) {
				for _, p := range m.misplaced() {
					names := lists.Map(p.keys, yamledit.Node.Key)
					found.At(p.keys[0],
						"is at the level of "+p.below+" instead of below it, and Rancher drops it: "+strings.Join(names, ", "),
						"indent it below "+p.below)
				}
			}, Fix: (*migration).indentConfig},
		{Rule: rules.UnknownConfigKey.WithDoc(
			"Rancher does not pass a key of the machine configuration to this RKE2 release; it may be misspelled. A note for a release that Rancher does not list, and for a key that only newer metadata of Rancher lists."),
			Check: func(m *migration, found *transform.Findings) {
				if !m.Release.Known {
					m.unlistedRelease(found)
				}
				for _, n := range m.unknownKeys() {
					if serversOnly, ok := m.Release.Later(n.Key()); ok {
						m.laterKey(found, n, serversOnly)
						continue
					}
					message := "Rancher does not pass this key to RKE2 " + m.Version + ": it is dropped"
					if strings.HasSuffix(n.Key(), "+") {
						message += "; keys that add to a list exist only in RKE2's own files"
					}
					found.At(n, message, m.keyAdvice(n.Key()))
				}
			}, Fix: (*migration).spellKeys},
		{Rule: transform.Rule{ID: "wrong-arg-spelling", Severity: transform.Error, Guards: rules.FlagEdits,
			Doc: "A list of component arguments holds a key of RKE2, such as cloud-provider-name, instead of the component's flag, such as cloud-provider. An unknown flag stops the component."}.Because(
			"The component does not know the key of RKE2 as a flag, and exits.", "rancher/rke2 docs: server configuration", "Write the component's own flag; `rke-lm lint --fix` does so.", "Never; the component does not start."),
			Check: func(m *migration, found *transform.Findings) {
				for _, s := range m.slippedArgs() {
					fix := "remove it"
					switch {
					case turnsStubOff(s.Name) && s.True():
						fix = "set the key " + disableStub + ": true of RKE2 instead"
					case s.right != "":
						name, _, _ := strings.Cut(s.right, "=")
						fix = "write " + name
					}
					message := s.Name + " is no flag of " + strings.TrimSuffix(s.component, "-arg") + ", which does not start with an unknown flag"
					if _, isKey := m.Release.Type(s.Name); isKey {
						message += "; it is a key of RKE2's own configuration"
					}
					found.At(s.Node(), message, fix)
				}
			}, Fix: (*migration).spellArgs},
	}
}

// flagOf gives the components' flag for a key of RKE2.
var flagOf = map[string]string{providerKey: componentFlag, cloudConfigKey: "cloud-config"}

// slippedArg is an argument that its component does not know.
type slippedArg struct {
	args.Arg
	component string // the key of its list
	right     string // the argument that was meant, or "" for none
}

// spellArgs writes the flag that was meant, or takes the slip out where the flag
// is there as well.
func (m *migration) spellArgs() []transform.Correction {
	var fixes []transform.Correction
	for _, s := range m.slippedArgs() {
		if turnsStubOff(s.Name) && s.True() {
			fixes = append(fixes, func(e *yamledit.Edit) { m.moveStub(e, s) })
		}
		if s.right == "" {
			continue
		}
		fixes = append(fixes, func(e *yamledit.Edit) {
			list := s.Node().Parent()
			if list.IsList() && args.Has(args.Of(list.Value()), args.Parse(s.right).Name) {
				e.Remove(s.Node())
			} else {
				e.Set(s.Node(), s.right)
			}
		})
	}
	return fixes
}

// moveStub makes an argument in the list of a component a key of
// RKE2. The key next to the list reaches the same machines.
func (m *migration) moveStub(e *yamledit.Edit, s slippedArg) {
	list := s.Node()
	if s.Node().Parent().IsList() {
		list = s.Node().Parent()
	}
	config := list.Parent()
	if !config.Get(disableStub).Exists() {
		e.InsertAfter(list, disableStub, true)
	} else if !truthy(config.Get(disableStub).Value()) {
		e.Fail(config.Get(disableStub).Errorf("the key contradicts the argument", "write the intended value"))
	}
	switch {
	case !s.Node().Same(list) && len(args.Of(list.Value())) > 1:
		e.Remove(s.Node())
	case m.isAlone(list):
		e.Remove(list)
	default:
		e.Fail(list.Errorf("without the argument an earlier list would take effect", "write the intended list"))
	}
}

// isAlone reports whether a location is the only one of its key.
func (m *migration) isAlone(at yamledit.Node) bool {
	return !slices.ContainsFunc(m.LayersWith(at.Key()), func(l effective.Layer) bool { return !l.Get(at.Key()).Same(at) })
}

func (m *migration) slippedArgs() []slippedArg {
	return lists.Flat(m.Written(), func(e yamledit.Entry) []slippedArg {
		if _, known := m.Release.Type(e.Key); !known || !strings.HasSuffix(e.Key, "-arg") {
			return nil
		}
		return lists.Found(args.Place(e.Value), func(a args.Arg) (slippedArg, bool) {
			right, slipped := m.meant(e.Key, a)
			return slippedArg{a, e.Key, right}, slipped
		})
	})
}

// meant returns the argument that should replace one that its
// component does not know.
func (m *migration) meant(component string, a args.Arg) (right string, slipped bool) {
	flag, isKey := flagOf[a.Name]
	switch {
	case isKey && slices.Contains(componentArgs, component) && m.knowsProvider(component):
		return asFlag(a, flag), true
	case isKey, turnsStubOff(a.Name), slices.Contains(gateKeys, a.Name):
		return "", true
	}
	for _, flag := range []string{componentFlag, leaderFlag} {
		if m.takes(component, flag) && slippedFrom(a.Name, flag) {
			return asFlag(a, flag), true
		}
	}
	return "", false
}

// slippedFrom reports whether a name is a slip of a flag. Components read
// underscores as dashes.
func slippedFrom(name, flag string) bool {
	return strings.ReplaceAll(name, "_", "-") != flag &&
		(args.IsSlip(name, flag) || strings.HasPrefix(name, flag+" "))
}

// asFlag writes an argument with another name, and with = before its value.
func asFlag(a args.Arg, flag string) string {
	if _, value, spaced := strings.Cut(a.Text, flag+" "); spaced {
		return flag + "=" + strings.TrimSpace(value)
	}
	return strings.Replace(a.Text, a.Name, flag, 1)
}

// takes reports whether a component has a flag of the migration.
func (m *migration) takes(component, flag string) bool {
	if flag == leaderFlag {
		return component == managerArgs
	}
	return slices.Contains(componentArgs, component) && m.knowsProvider(component)
}

// setIn says where to set what is no key of the machine configuration.
var setIn = map[string]string{
	"data-dir":                    "set spec.rkeConfig.dataDirectories.k8sDistro",
	"node-label":                  "set labels on the machine pool",
	"node-name":                   "remove it; Rancher names the machines",
	"node-taint":                  "set taints on the machine pool",
	"secrets-encryption":          "remove it; Rancher manages the encryption of secrets",
	"server":                      "remove it; Rancher sets it",
	"token":                       "remove it; Rancher sets it",
	"node-ip":                     "remove it; Rancher sets it",
	"node-external-ip":            "remove it; Rancher sets it",
	"etcd-s3":                     "set spec.rkeConfig.etcd.s3",
	"etcd-disable-snapshots":      "set spec.rkeConfig.etcd.disableSnapshots",
	"etcd-snapshot-retention":     "set spec.rkeConfig.etcd.snapshotRetention",
	"etcd-snapshot-schedule-cron": "set spec.rkeConfig.etcd.snapshotScheduleCron",
}

// laterKey reports that the release alone does not show whether a key arrives.
func (m *migration) laterKey(found *transform.Findings, n yamledit.Node, serversOnly bool) {
	machines := "machines"
	if serversOnly {
		machines = "servers (control planes and etcd, not workers)"
	}
	found.At(n, "newer metadata of Rancher, such as that of "+effective.LaterDate()+", passes this key to "+machines+" of RKE2 "+m.Version+", older metadata does not: it depends on your Rancher",
		"keep it, and check whether it is in "+rancherFile+" on the machines").Severity = transform.Note
}

// rancherFile is what Rancher gives a machine.
const rancherFile = "/etc/rancher/rke2/config.yaml.d/50-rancher.yaml"

func (m *migration) unlistedRelease(found *transform.Findings) {
	at := m.Root.Get("spec", "kubernetesVersion")
	if s := at.StringAt(); s != m.Version {
		at = m.Root // the version is assumed
	}
	found.At(at, "the tables of "+effective.TablesDate()+" do not list RKE2 "+m.Version+", so the arguments of all releases are accepted", "check the version").Severity = transform.Note
}

// unknownKeys returns the entries whose keys Rancher drops.
func (m *migration) unknownKeys() []yamledit.Node {
	return lists.Found(m.Written(), func(e yamledit.Entry) (yamledit.Node, bool) {
		_, known := m.Release.Type(e.Key)
		return e.Value, !known
	})
}

func (m *migration) keyAdvice(key string) string {
	if place, ok := setIn[key]; ok {
		return place
	}
	if key == nodeNameKey {
		return m.nodeNameAdvice()
	}
	if right, ok := m.nearest(key); ok {
		return "write " + right
	}
	if _, known := effective.LookupRelease("").Type(key); known {
		return "remove it; other releases of RKE2 have it"
	}
	return "remove it"
}

// nearest returns the key of RKE2 that another word was meant to be.
func (m *migration) nearest(key string) (string, bool) {
	if known := m.Release.Keys(); !turnsStubOff(key) || !slices.Contains(known, disableStub) {
		return args.Nearest(key, known)
	}
	return disableStub, true
}

// turnsStubOff reports whether a word is the key that turns RKE2's stub off, as it
// is, or as answers in public call it (rancher/rke2 #4267).
func turnsStubOff(word string) bool { return word == disableStub || word == "disable-cloud-provider" }

// nodeNameAdvice never takes the key away: where it arrives, it names the nodes.
func (m *migration) nodeNameAdvice() string {
	const since = "newer metadata of Rancher passes it to the servers of 1.32.9, 1.33.5 and later"
	if m.onlyNamesNodes() {
		return "keep it, and rely on it only where " + rancherFile + " holds it; RKE2 " + m.Version + " has the key, and " + since
	}
	return "keep it for the releases that have it: RKE2 1.29.11, 1.30.7, 1.31.3 and later; " + since
}

// spellKeys renames keys that are one slip away from a known one. A key that
// was to add to a list keeps its name where it would replace one instead.
func (m *migration) spellKeys() []transform.Correction {
	return lists.Found(m.unknownKeys(), func(n yamledit.Node) (transform.Correction, bool) {
		right, ok := m.nearest(n.Key())
		_, other := setIn[n.Key()]
		slip := ok && !other && !effective.IsLater(n.Key())
		return func(e *yamledit.Edit) { e.Rename(n, right) }, slip && !n.Parent().Get(right).Exists() && !m.adds(n, right)
	})
}

// adds reports whether a key with + meets a list on any machine.
func (m *migration) adds(n yamledit.Node, key string) bool {
	of, _ := lists.Find(m.Layers, func(l effective.Layer) bool { return l.Get(n.Key()).Same(n) })
	return strings.HasSuffix(n.Key(), "+") && slices.ContainsFunc(m.Kinds, func(c effective.Class) bool {
		return m.Winner(c, key).Exists() && of.Matches(c)
	})
}

// indentConfig moves such arguments below a key that has no value.
func (m *migration) indentConfig() []transform.Correction {
	return lists.Found(m.misplaced(), func(p misplacement) (transform.Correction, bool) {
		return func(e *yamledit.Edit) { e.Adopt(p.config, p.keys) }, p.config.IsNull()
	})
}

// misplacement is arguments next to the mapping that should hold them.
type misplacement struct {
	below  string
	config yamledit.Node // may not exist
	keys   []yamledit.Node
}

func (m *migration) misplaced() []misplacement {
	const global = "machineGlobalConfig"
	places := []misplacement{{global, m.RKEConfig().Get(global), m.argumentsIn(m.RKEConfig())}}
	for _, l := range m.Layers[1:] {
		places = append(places, misplacement{"config", l.Config, m.argumentsIn(l.Entry)})
	}
	return lists.Where(places, func(p misplacement) bool { return len(p.keys) > 0 })
}

// argumentsIn returns the entries of a mapping that are arguments of machines,
// misspelt lists of component arguments included.
func (m *migration) argumentsIn(at yamledit.Node) []yamledit.Node {
	return lists.Found(at.Entries(), func(e yamledit.Entry) (yamledit.Node, bool) {
		_, known := m.Release.Type(e.Key)
		return e.Value, known || m.slipsToArgs(e.Key)
	})
}

func (m *migration) slipsToArgs(key string) bool {
	if !strings.Contains(strings.ToLower(key), "arg") {
		return false // nothing else is worth the search
	}
	near, ok := args.Nearest(key, m.Release.Keys())
	return ok && strings.HasSuffix(near, "-arg")
}
