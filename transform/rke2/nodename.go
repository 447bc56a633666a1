// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// nodeNameKey takes the name of a node from the instance metadata, whatever the
// provider.
const nodeNameKey = "node-name-from-cloud-provider-metadata"

// ownNodeName lists the first releases whose RKE2 has nodeNameKey. On every
// release cloud-provider-name: aws takes the name of a node from the instance
// metadata; from these on that is all that it does: RKE2 sets nodeNameKey, empties
// the provider and hands none to any component (rancher/rke2,
// pkg/rke2/rke2_linux.go at v1.24.17, v1.26.15, v1.28.9, v1.29.11, v1.30.7,
// v1.31.4, v1.34.1 and v1.36.0).
var ownNodeName = []string{"v1.29.11", "v1.30.7", "v1.31.3"}

// onlyNamesNodes reports whether aws is no cloud provider any more.
func (m *migration) onlyNamesNodes() bool { return k8s.Since(m.Version, ownNodeName...) }

// namedByMetadata reports whether machines of a class take their name from the
// instance metadata whatever their provider is.
func (m *migration) namedByMetadata(c effective.Class) bool {
	return m.onlyNamesNodes() && truthy(m.Effective(c)[nodeNameKey].Value)
}

// keepsName reports whether machines of a class take the name of their Node from the metadata
// as they are configured. RKE2 for Windows never does (pkg/rke2/rke2_windows.go at v1.22.17 to v1.29.10).
func (m *migration) keepsName(c effective.Class) bool {
	return m.namedByMetadata(c) || !c.Windows() && m.Effective(c)[providerKey].Value == inTree
}

// named are the classes whose Nodes a cloud provider names: the in-tree kubelet does so, too.
func (m *migration) named() map[string]bool {
	of := map[string]bool{}
	for _, c := range m.Classes {
		of[c.Name] = m.keepsName(c) || !m.onlyNamesNodes() && m.Effective(c).Provider(kubeletArgs) == inTree
	}
	return of
}

// renames reports whether an external provider is known to rename Nodes. A pool is always of a node
// driver, which gives each machine its own name for a host name (rancher/machine
// commands/create.go, writeCloudConfig): only the machines of a live cluster show another thing.
func (m *migration) renames() bool {
	known := m.Target.HostNames
	return len(known.Changes()) > 0 || len(m.pools) > 0 && !(m.Target.Machines != nil && known.Equal())
}

// namesOf lists classes by their names.
func (m *migration) namesOf(of func(effective.Class) bool) []string {
	return lists.Map(lists.Where(m.Classes, of), func(c effective.Class) string { return c.Name })
}

// losesName returns what reports whether the switch, the one that is checked or the one that is planned, takes
// the name of its Nodes from a class.
func (m *migration) losesName() func(effective.Class) bool {
	external := m.endState() == transform.EndStateExternal && !m.keepsNamesAsExternal()
	return func(c effective.Class) bool {
		if m.Stage != "" {
			return m.Target.Named[c.Name] && !m.keepsName(c)
		}
		return m.Target.Named[c.Name] && (external || c.Windows() && !m.onlyNamesNodes())
	}
}

// nodeRename reports what the end state does to names, where the provider of the machines is set.
func (m *migration) nodeRename(found *transform.Findings) {
	add := func(of func(effective.Class) bool, message, fix string) {
		for _, n := range m.Winners(providerKey, of) {
			rules.RenameAt(n, m.Stage, message, fix, found)
		}
	}
	named := func(c effective.Class) bool { return m.Target.Named[c.Name] && !c.Windows() }
	losesName := m.losesName()
	loses := func(c effective.Class) bool { return losesName(c) && !c.Windows() }
	switch others := m.otherProviders(); {
	case m.Target.EndState == "" && len(others) > 0:
		add(named, "machines of class "+rules.Some(others)+" have the external provider, those of class "+rules.Some(m.namesOf(named))+" aws, so no end state is taken: "+m.renaming()+registersAgain, rules.NamesAnswer(m.Target))
	case !slices.ContainsFunc(m.Classes, loses):
		m.taken(found, named)
	case m.renames():
		add(loses, m.renaming()+registersAgain, rules.NamesAnswer(m.Target))
	case rules.NamesOpen(m.Target):
		answer := rules.NamesAnswer(transform.Target{})
		add(loses, m.mayRename()+registersAgain, cmp.Or(rules.NamesMissing(m.Target, answer), "choose --end-state aws-override, or external if all names are equal (docs/guide.md, Node names); or add --host-names"))
	}
	windows := func(c effective.Class) bool { return losesName(c) && c.Windows() }
	if m.hasWindows() {
		windows = named
	}
	add(windows, "any end state renames Windows machines: RKE2 "+m.Version+" does not take their names from the instance metadata, the in-tree kubelet did, and an external one uses the host name", "prepare for new Nodes of these machines, and accept their names with --accept node-rename")
}

// otherProviders lists the classes that are external while control planes are not.
func (m *migration) otherProviders() []string {
	if !slices.ContainsFunc(m.Classes, func(c effective.Class) bool { return c.ControlPlane() && m.Target.Named[c.Name] }) {
		return nil
	}
	return m.namesOf(func(c effective.Class) bool { return !m.Target.Named[c.Name] && !c.Windows() })
}

// hasWindows reports whether a live cluster without pools has machines with Windows, whose names only
// an in-tree kubelet takes from the metadata.
func (m *migration) hasWindows() bool {
	isWindows := func(labels map[string]string) bool { return effective.Class{Labels: labels}.Windows() }
	return m.Target.Machines != nil && len(m.pools) == 0 && !m.onlyNamesNodes() && slices.ContainsFunc(*m.Target.Machines, isWindows)
}

// taken reports the end state that the stages take, once, where the operator chose none.
func (m *migration) taken(found *transform.Findings, named func(effective.Class) bool) {
	at := m.Winners(providerKey, named)
	if m.Stage == "" || m.Target.EndState != "" || len(at) == 0 {
		return
	}
	because := m.mayRename()
	if m.renames() {
		because = m.renaming()
	}
	message, fix := "the end state is aws-override: "+because, "nothing, if the names are to stay"
	switch {
	case m.keepsNamesAsExternal():
		message = "the end state is external with " + nodeNameKey + ", which keeps the names: without it, " + because
	case m.Target.Situation.HasInTreeProvider():
		fix = "keep cloud-provider=external in " + kubeletArgs + " of every machine class, and in " + managerArgs + " and " + apiServerArgs + " of the control planes: the upgrade to 1.27 requires it, and upgrade-kubernetes refuses without it"
	}
	found.At(at[0], message, fix).Severity = transform.Note
}

// takenWhy is why no external provider is taken unasked; "" where one is.
func (m *migration) takenWhy() string {
	switch {
	case m.Target.Taken != transform.EndStateOverride:
		return ""
	case m.renames():
		return "external renames nodes"
	case m.Target.HostNames.Equal():
		return "it keeps the names"
	}
	return "the host names are not known"
}

// renaming is what an external provider does to Nodes that are known to get other names.
func (m *migration) renaming() string {
	nodes, changes := "", rules.Some(m.Target.HostNames.Changes())
	if unknown := m.Target.HostNames.Unknown(); changes != "" && len(unknown) > 0 {
		changes += ", and perhaps " + rules.Some(unknown)
	}
	why := m.namedBy() + ", and with external the kubelet uses the host name"
	if pools := m.namesOf(func(c effective.Class) bool { return c.Pool.Exists() && m.Target.Named[c.Name] && !c.Windows() }); len(pools) > 0 {
		nodes = "every node of the machine pools " + rules.Some(pools) + ", later ones as well"
		why = m.namedBy() + ", and rancher-machine sets the host name of a machine to the machine's name"
		if changes != "" {
			changes = " (" + changes + ")"
		}
	} else if m.onlyNamesNodes() {
		why += ", or a node-name of the machine, which aws overwrites on this release"
	}
	if list := m.hosts(unclear); len(list) > 0 {
		why += "; unless the user data of the pool " + list[0].Name + " sets another host name, which is not known"
	}
	return "external renames " + nodes + changes + ": " + why + m.unlessPassed()
}

const registersAgain = "; a renamed node registers as a new Node, whose name a cloud-controller-manager up to 1.29 cannot resolve"

// mayRename is the same of Nodes whose host names are not known.
func (m *migration) mayRename() string {
	if m.Target.HostNames.Equal() {
		return "it keeps the names of later machines as well"
	}
	unknown := ""
	if list := m.Target.HostNames.Unknown(); len(list) > 0 {
		unknown = " of " + rules.Some(list)
	}
	return "the host names" + unknown + " are not known: " + m.namedBy() + ", and with external the kubelet uses the host name" + m.unlessPassed()
}

// unlessPassed offers the key that keeps the names with an external provider where only newer metadata of Rancher
// passes it, and to all machines.
func (m *migration) unlessPassed() string {
	lost := func(c effective.Class) bool {
		serversOnly, passes := m.Release.Later(nodeNameKey)
		return !passes || serversOnly && !c.Server()
	}
	if !m.onlyNamesNodes() || slices.ContainsFunc(m.Classes, lost) {
		return ""
	}
	return "; with " + nodeNameKey + ": true it keeps them, where " + rancherFile + " on the machines holds that key, which newer metadata of Rancher passes to RKE2 " + m.Version
}

func (m *migration) namedBy() string {
	if m.onlyNamesNodes() {
		return "with aws RKE2 " + m.Version + " reads the node's name from the instance metadata, and does nothing else"
	}
	return "with aws RKE2 " + m.minor() + " also reads the node's name from the instance metadata"
}

// nameOnlyWhy reports what the switch does on a release where aws was only a name.
func (m *migration) nameOnlyWhy() string {
	why := "On RKE2 " + m.Version + " cloud-provider-name: aws reads the node's name from the instance metadata and does nothing else: no component has a cloud provider. " +
		"After this stage a new node registers with a taint, and the cloud-controller-manager initializes it; Nodes that exist keep what they have. "
	switch {
	case m.endState() == transform.EndStateOverride:
		return why
	case m.keepsNamesAsExternal():
		return why + nodeNameKey + " keeps the names of the nodes. "
	}
	return why + "With external the kubelet uses the host name, and a node whose name changes registers as a new Node. "
}

// userData returns the user data of a pool's machines; it does not exist where it was not given.
func (m *migration) userData(c effective.Class) yamledit.Node {
	ref := c.Pool.Get("machineConfigRef")
	o := effective.Object{Kind: ref.StringAt("kind"), Name: ref.StringAt("name")}
	for _, doc := range m.Target.Related {
		for _, e := range doc.Root().Entries() {
			if isObject(doc, o, m.Doc) && strings.EqualFold(e.Key, "userData") {
				return e.Value
			}
		}
	}
	return yamledit.Node{}
}

// hosts is what user data does to the host names of its machines.
type hosts int

const (
	ofMachines hosts = iota // they are those that rancher-machine sets
	oneForAll
	unclear
)

// sets is whatever may set a host name in cloud-init's user data.
var sets = regexp.MustCompile(`(?i)hostname|runcmd|bootcmd|write_files`)

// hostsOf reads cloud-config alone. Of scripts, templates and several parts the result does not show.
func hostsOf(userData string) hosts {
	text := strings.TrimSpace(userData)
	doc, err := yamledit.ParseString("user data", text)
	switch {
	case text == "":
		return ofMachines
	case err != nil, !strings.HasPrefix(text, "#cloud-config"), doc.Root().Get("preserve_hostname").Value() == true:
		return unclear
	}
	for _, key := range []string{"hostname", "fqdn"} {
		if s, is := doc.Root().Get(key).String(); is && s != "" && !strings.ContainsAny(s, "{$") {
			return oneForAll
		}
	}
	if sets.MatchString(text) {
		return unclear
	}
	return ofMachines
}

// hosts lists the pools that lose their names and whose user data does one thing to host names.
func (m *migration) hosts(of hosts) []effective.Class {
	losesName := m.losesName()
	return slices.DeleteFunc(slices.Clone(m.Classes), func(c effective.Class) bool {
		text, given := m.userData(c).String()
		return !given || !losesName(c) || hostsOf(text) != of
	})
}

// nodeNameShared finds user data that gives all machines of a pool one host name.
func (m *migration) nodeNameShared(found *transform.Findings) {
	for _, c := range m.hosts(oneForAll) {
		found.At(c.Pool.Get("machineConfigRef"), "the user data of "+aws.MachineConfigKind+" "+c.Pool.StringAt("machineConfigRef", "name")+" has a hostname or fqdn: with external all machines of the pool "+c.Name+" register as one Node",
			"remove hostname and fqdn from the user data, or choose --end-state aws-override")
	}
}
