// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// rule is a row of the table: what is documented and what is checked.
type rule struct {
	transform.Rule
	check func(*migration) []transform.Finding
}

var (
	everyEdit = []string{transform.GrantMigrationLease, transform.EnableLeaderMigration, transform.SwitchToExternal}
	flagEdits = []string{transform.EnableLeaderMigration, transform.SwitchToExternal}
	theSwitch = []string{transform.SwitchToExternal}
)

// rules is the one table of RKE2's static rules.
func rules() []rule {
	return []rule{
		{transform.Rule{
			ID: "args-overwritten", Severity: transform.Warning, Guards: flagEdits, Acceptable: true,
			Doc: "An entry of machineSelectorConfig replaces a list of arguments that an earlier location set for the same machines, and arguments vanish. An error where it concerns kube-controller-manager-arg.",
		}, (*migration).argsOverwritten},
		{transform.Rule{
			ID: "cloud-config-lost", Severity: transform.Error, Guards: theSwitch, Acceptable: true,
			Doc: "cloud-provider-config is set: an external provider ignores it, so its content must reach the cloud-controller-manager as --cloud-config.",
		}, (*migration).cloudConfigLost},
		{transform.Rule{
			ID: "in-tree-gone", Severity: transform.Error, Guards: everyEdit,
			Doc: "The provider is aws at Kubernetes 1.27 or later, where the in-tree provider no longer exists.",
		}, (*migration).inTreeGone},
		{transform.Rule{
			ID: "node-rename", Severity: transform.Error, Guards: theSwitch, Acceptable: true,
			Doc: "On this RKE2 release cloud-provider-name: aws also names the nodes. With external the kubelet takes the host name, and a node whose name changes registers anew. Choosing --end-state acknowledges it.",
		}, (*migration).nodeRename},
		{transform.Rule{
			ID: transform.RuleNotMigratable, Severity: transform.Warning, Guards: theSwitch,
			Doc: "Refused with exit code 4: rkeConfig is null, a K3s version, the cluster local, another cloud provider than aws, or Kubernetes below 1.22. Windows machines are a warning.",
		}, (*migration).windowsPool},
		{transform.Rule{
			ID: "provider-in-selector", Severity: transform.Note, Guards: theSwitch, Acceptable: true,
			Doc: "cloud-provider-name is won by an entry of machineSelectorConfig, not by machineGlobalConfig; the switch edits the location that wins.",
		}, (*migration).providerInSelector},
		{transform.Rule{
			ID: "value-erased", Severity: transform.Warning, Guards: flagEdits, Acceptable: true,
			Doc: "A later null, number, mapping, [] or empty string erases a value that an earlier location set for the same machines. An error where it concerns kube-controller-manager-arg.",
		}, (*migration).valueErased},
	}
}

func ruleTable() []transform.Rule {
	var table []transform.Rule
	for _, r := range rules() {
		table = append(table, r.Rule)
	}
	return table
}

// Findings implements transform.Cluster.
func (m *migration) Findings(stage string) []transform.Finding {
	var found []transform.Finding
	for _, r := range rules() {
		if stage == "" || slices.Contains(r.Guards, stage) {
			found = append(found, r.Report(r.check(m), m.target.Accept)...)
		}
	}
	return found
}

// severity is error for the key that the stages change, else the rule's own.
func severity(key string) transform.Severity {
	if key == managerArgs {
		return transform.Error
	}
	return ""
}

// argsOverwritten compares each location of a list with those before it.
func (m *migration) argsOverwritten() []transform.Finding {
	return m.overrides(func(key string, earlier, later yamledit.Node) (string, string) {
		list := args.Of(later.Value())
		if len(list) == 0 || !m.isList(key) {
			return "", ""
		}
		lost := slices.DeleteFunc(args.Of(earlier.Value()), func(a args.Arg) bool {
			_, kept := args.Last(list, a.Name)
			return kept
		})
		if len(lost) == 0 {
			return "", ""
		}
		return "this list replaces the one in line " + lineOf(earlier) + " on the same machines, and these arguments vanish: " + argNames(lost),
			"repeat them here, or remove them there"
	})
}

// isList reports whether a key takes a list of arguments.
func (m *migration) isList(key string) bool {
	t, _ := m.Release.Type(key)
	return t == ArgArray
}

// valueErased finds values that count as nothing and stand behind a good one.
func (m *migration) valueErased() []transform.Finding {
	return m.overrides(func(key string, earlier, later yamledit.Node) (string, string) {
		if m.isEmpty(key, earlier.Value()) || !m.isEmpty(key, later.Value()) {
			return "", ""
		}
		return "this value counts as none, and erases the one in line " + lineOf(earlier) + " on the same machines", "remove the key here, or write the value that is meant"
	})
}

// isEmpty reports whether a value is dropped, or means no arguments at all.
func (m *migration) isEmpty(key string, v any) bool {
	kept, ok := m.Release.Keep(true, key, v)
	if list, isList := kept.([]any); isList {
		return len(list) == 0
	}
	return !ok || kept == ""
}

// overrides calls judge for every location of a key and the one before it that
// it overrides on some class, once for each pair.
func (m *migration) overrides(judge func(key string, earlier, later yamledit.Node) (message, fix string)) []transform.Finding {
	type pair struct{ earlier, later string }
	seen := map[pair]bool{}
	var found []transform.Finding
	for _, class := range m.Classes {
		for _, l := range m.Layers {
			for _, entry := range l.Config.Entries() {
				earlier, ok := m.before(class, l, entry.Key)
				p := pair{earlier.Path(), entry.Value.Path()}
				if !ok || seen[p] || !m.reaches(class, entry.Key) {
					continue
				}
				seen[p] = true
				if message, fix := judge(entry.Key, earlier, entry.Value); message != "" {
					f := transform.FindingAt(entry.Value, message, fix)
					f.Severity = severity(entry.Key)
					found = append(found, f)
				}
			}
		}
	}
	return found
}

// reaches reports whether a key means anything on machines of a class.
func (m *migration) reaches(class Class, key string) bool {
	if key == managerArgs {
		return class.ControlPlane()
	}
	return class.Server() || !m.Release.ServerOnly(key)
}

// before returns the location that a layer overrides for a class.
func (m *migration) before(class Class, l Layer, key string) (yamledit.Node, bool) {
	all := m.Candidates(class, key)
	for i, n := range all {
		if i > 0 && n.Same(l.Get(key)) {
			return all[i-1], true
		}
	}
	return yamledit.Node{}, false
}

func (m *migration) cloudConfigLost() []transform.Finding {
	return m.eachWinner("cloud-provider-config", func(yamledit.Node) (string, string) {
		return "an external provider ignores this configuration", "carry its content to the cloud-controller-manager as --cloud-config, then --accept cloud-config-lost"
	})
}

func (m *migration) inTreeGone() []transform.Finding {
	if semver.Compare(semver.MajorMinor(m.Version), "v1.27") < 0 {
		return nil
	}
	return m.eachWinner(providerKey, func(n yamledit.Node) (string, string) {
		if s, _ := n.String(); s != inTree {
			return "", ""
		}
		return "the provider is aws, which Kubernetes 1.27 and later do not have", "migrate on 1.26, before the upgrade"
	})
}

// renamesNodes lists the first release of each minor in which aws no longer
// names the nodes (rancher/rke2 #7336); later minors never do.
var renamesNodes = map[string]string{"v1.29": "v1.29.11", "v1.30": "v1.30.7", "v1.31": "v1.31.3"}

func (m *migration) nodeRename() []transform.Finding {
	if m.target.EndState != "" {
		return nil
	}
	minor := semver.MajorMinor(m.Version)
	first, listed := renamesNodes[minor]
	if semver.Compare(minor, "v1.31") > 0 || listed && semver.Compare(m.Version, first) >= 0 {
		return nil
	}
	return m.eachWinner(providerKey, func(yamledit.Node) (string, string) {
		return "with aws RKE2 " + minor + " also takes the node's name from the instance metadata; with external the kubelet takes the host name, and a node whose name changes registers anew, where the cloud-controller-manager cannot resolve it",
			"make sure that every node's name equals its host name, then choose --end-state external"
	})
}

func (m *migration) providerInSelector() []transform.Finding {
	return m.eachWinner(providerKey, func(n yamledit.Node) (string, string) {
		if n.Same(m.Layers[0].Get(providerKey)) {
			return "", ""
		}
		return "the provider is set here, not in machineGlobalConfig", "edit it here, as the switch does"
	})
}

func (m *migration) windowsPool() []transform.Finding {
	var found []transform.Finding
	for _, class := range m.Classes {
		if class.Windows() {
			found = append(found, transform.FindingAt(class.Pool, "these machines run Windows", "plan for their restart, and verify them by hand"))
		}
	}
	return found
}

// eachWinner calls judge for every location that wins a key.
func (m *migration) eachWinner(key string, judge func(yamledit.Node) (message, fix string)) []transform.Finding {
	var found []transform.Finding
	for _, n := range m.winners(key, func(Class) bool { return true }) {
		if message, fix := judge(n); message != "" {
			found = append(found, transform.FindingAt(n, message, fix))
		}
	}
	return found
}
