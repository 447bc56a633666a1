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
