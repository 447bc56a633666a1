// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Container is the arguments of a component that a container runs: what follows
// the program in its command, and its args.
type Container struct {
	node  yamledit.Node
	lists []yamledit.Node // that hold arguments, in the order in which they count
	list  []Arg
}

// switches are the flags without a value after them: pflag takes an item that
// follows one of these for an argument of its own.
var switches = []string{"enable-leader-migration", "leader-elect", "configure-cloud-routes", "allocate-node-cidrs", "use-service-account-credentials", "profiling"}

// ReadContainer reads command and args of a container whose program takes the
// first items: so many of the command, or of args where there is no command. A
// value may be after its flag as an item of its own. It fails for items
// whose meaning is not certain.
func ReadContainer(container yamledit.Node, program int) (Container, error) {
	c := Container{node: container, lists: lists.Where([]yamledit.Node{container.Get("command"), container.Get("args")}, yamledit.Node.IsList)}
	items := slices.Concat(lists.Map(c.lists, yamledit.Node.Items)...)
	for items = items[min(program, len(items)):]; len(items) > 0; {
		p, taken, err := placed(items)
		if err != nil {
			return c, err
		}
		c.list, items = append(c.list, p), items[taken:]
	}
	return c, nil
}

// placed reads the first argument of the items, and says how many it takes.
func placed(items []yamledit.Node) (Arg, int, error) {
	at := items[0]
	text, ok := at.String()
	if !ok || !strings.HasPrefix(text, "-") || text == "-" || text == "--" {
		return Arg{}, 0, at.Errorf("not a flag, nor the value of one", "write every argument as an item --flag=value")
	}
	p := Parse(text).At(items[:1]...)
	p.Name = strings.ReplaceAll(strings.TrimLeft(p.Name, "-"), "_", "-")
	if len(items) == 1 || strings.Contains(text, "=") {
		return p, 1, nil
	}
	value, ok := items[1].String()
	switch {
	case !ok || strings.HasPrefix(value, "-"):
		return p, 1, nil
	case slices.Contains(switches, p.Name):
		return p, 0, items[1].Errorf("a value apart from --"+p.Name+", which takes none", "write --"+p.Name+"=true or =false as one item")
	}
	p.Value = value
	return p.At(items[:2]...), 2, nil
}

// List returns the arguments in the order in which they count.
func (c Container) List() []Arg { return c.list }

// Apply queues a change of the arguments. Nothing is queued where it holds
// already; new arguments go after the others.
func (c Container) Apply(e *yamledit.Edit, u Update) {
	u.place(c.list, func(p Arg) {
		for _, n := range p.Nodes {
			e.Remove(n)
		}
	}, func(p Arg, a Arg) {
		if len(p.Nodes) > 1 {
			e.Set(p.Nodes[1], a.Value)
			return
		}
		name, _, _ := strings.Cut(p.Text, "=")
		e.Set(p.Node(), name+"="+a.Value)
	}, func(a Arg) {
		if at := c.home(); at.Exists() {
			e.Append(at, "--"+a.Text)
		} else {
			e.Put(c.node, []string{"--" + a.Text}, "args")
		}
	})
}

// home returns the list for new arguments: the last one that holds any, or else the last
// one. It does not exist in a container without any, which gets args.
func (c Container) home() yamledit.Node {
	switch {
	case len(c.list) > 0:
		return c.list[len(c.list)-1].Node().Parent()
	case len(c.lists) > 0:
		return c.lists[len(c.lists)-1]
	}
	return yamledit.Node{}
}

// Command returns the arguments in what a container runs, as the component reads
// them: a value may be after its flag as an item of its own, and an underscore
// in a name is a hyphen. Items that are no flags, such as the program, count by
// their text.
func Command(items []string) []Arg {
	var list []Arg
	for len(items) > 0 {
		a := Parse(items[0])
		if strings.HasPrefix(a.Text, "--") {
			a.Name = strings.ReplaceAll(a.Name, "_", "-")
		}
		items = items[1:]
		if takesNext(a) && len(items) > 0 && !strings.HasPrefix(items[0], "-") {
			a.Value, items = items[0], items[1:]
		}
		list = append(list, a)
	}
	return list
}

// takesNext reports whether the item after a flag is its value.
func takesNext(a Arg) bool {
	return strings.HasPrefix(a.Text, "--") && len(a.Text) > 2 && !strings.Contains(a.Text, "=") && !slices.Contains(switches, a.Name)
}

// GatesFlag is the argument that holds feature gates.
const GatesFlag = "feature-gates"

// Gates returns the feature gates that arguments name, with their values.
func Gates(list []Arg) map[string]string {
	gates := map[string]string{}
	for _, a := range list {
		if a.Name != GatesFlag {
			continue
		}
		for _, g := range strings.Split(a.Value, ",") {
			if name, value, _ := strings.Cut(strings.TrimSpace(g), "="); name != "" {
				gates[name] = strings.TrimSpace(value)
			}
		}
	}
	return gates
}

// accumulated are the flags of kube-apiserver of which every occurrence counts, in their
// order: lists, and maps whose entries are merged (kubernetes cmd/kube-apiserver, 1.22
// to 1.35: StringSlice, StringArray, the maps of component-base/cli/flag, vmodule). Of
// all others the last one counts.
var accumulated = map[string]bool{
	"admission-control": true, "allow-metric-labels": true, "api-audiences": true, "authorization-always-allow-paths": true,
	"authorization-mode": true, "cors-allowed-origins": true, "disable-admission-plugins": true, "disabled-metrics": true,
	"emulated-version": true, "enable-admission-plugins": true, "etcd-servers": true, "etcd-servers-overrides": true,
	"feature-gates": true, "kubelet-preferred-address-types": true, "min-compatibility-version": true,
	"oidc-required-claim": true, "oidc-signing-algs": true, "requestheader-allowed-names": true,
	"requestheader-extra-headers-prefix": true, "requestheader-group-headers": true, "requestheader-uid-headers": true,
	"requestheader-username-headers": true, "runtime-config": true, "service-account-issuer": true,
	"service-account-key-file": true, "strict-transport-security-directives": true, "tls-cipher-suites": true,
	"tls-sni-cert-key": true, "vmodule": true, "watch-cache-sizes": true,
}

// Accumulates reports whether every occurrence of a flag of kube-apiserver counts.
func Accumulates(flag string) bool { return accumulated[flag] }

// ForAPIServer returns what kube-apiserver makes of arguments, in one form: two lists
// mean the same to it where this is equal. The order among different flags is not kept;
// that of one flag's occurrences is, where more than the last one counts.
func ForAPIServer(list []Arg) []Arg {
	byFlag := map[string][]Arg{}
	for _, a := range list {
		name := strings.ReplaceAll(a.Name, "_", "-") // as the flags of components are read
		a = Arg{Name: name, Value: a.Value, Text: name + "=" + a.Value}
		if !Accumulates(name) {
			byFlag[name] = nil
		}
		byFlag[name] = append(byFlag[name], a)
	}
	return slices.Concat(lists.Map(lists.Keys(byFlag), func(name string) []Arg { return byFlag[name] })...)
}

// Extra is the extraArgs of kubeadm: a mapping of names to values, and from
// v1beta4 on a list of {name, value}.
type Extra struct {
	at   yamledit.Node
	list []Arg
}

// ReadExtra reads extraArgs; at need not exist. It fails for what kubeadm does
// not take.
func ReadExtra(at yamledit.Node) (Extra, error) {
	x := Extra{at: at}
	for _, e := range at.Entries() {
		if err := x.read(e.Value, e.Key, e.Value); err != nil {
			return x, err
		}
	}
	for _, item := range at.Items() {
		if err := x.read(item, item.StringAt("name"), item.Get("value")); err != nil {
			return x, err
		}
	}
	if at.IsScalar() && !at.IsNull() {
		return x, at.Errorf("neither a mapping nor a list", "write flags without dashes and their values, as kubeadm takes them")
	}
	return x, nil
}

func (x *Extra) read(at yamledit.Node, name string, value yamledit.Node) error {
	v, ok := value.String()
	if !ok || name == "" {
		return at.Errorf("not a flag with a string as its value", `write name and value as strings, as in "true"`)
	}
	a := With(strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-"), v)
	a.Text = name + "=" + v
	x.list = append(x.list, a.At(at, value))
	return nil
}

// List returns the arguments in the order of the document.
func (x Extra) List() []Arg { return x.list }

// Apply queues a change of the arguments. Nothing is queued where it holds
// already. extraArgs must exist.
func (x Extra) Apply(e *yamledit.Edit, u Update) {
	u.place(x.list, func(p Arg) { e.Remove(p.Node()) }, func(p Arg, a Arg) { e.Set(p.Nodes[1], a.Value) }, func(a Arg) {
		if x.at.IsList() {
			e.Append(x.at, yamledit.Map{{Key: "name", Value: a.Name}, {Key: "value", Value: a.Value}})
			return
		}
		e.Insert(x.at, a.Name, a.Value)
	})
}

// OfMap returns the arguments in a mapping from flags to values, in the order of
// the file. A value may be a list, of which every item is an occurrence.
func OfMap(at yamledit.Node) []Arg {
	var list []Arg
	for _, e := range at.Entries() {
		values := []yamledit.Node{e.Value}
		if e.Value.IsList() {
			values = e.Value.Items()
		}
		for _, n := range values {
			list = append(list, With(e.Key, written(n)).At(n))
		}
	}
	return list
}

// written returns a value as it is written: RKE passes 0644 and yes on as they are.
func written(n yamledit.Node) string {
	if text, ok := n.String(); ok || n.IsNull() {
		return text
	}
	return n.Text()
}

// ApplyMap queues the change of a mapping from flags to values. What is set is
// written as a string: API JSON takes nothing else. Nothing is queued where it
// holds already.
func (u Update) ApplyMap(e *yamledit.Edit, at yamledit.Node) {
	for _, name := range u.Remove {
		if n := at.Get(name); n.Exists() {
			e.Remove(n)
		}
	}
	set := func(p Arg, a Arg) { e.Set(p.Node(), a.Value) }
	Update{Set: u.Set}.place(OfMap(at), nil, set, func(a Arg) { e.Put(at, a.Value, a.Name) })
}
