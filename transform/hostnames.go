// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"maps"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// HostNames are, by Node, the names by which machines register if no cloud provider names
// them: their host names, or names of their own in the kubelet's arguments; "" where it is not known.
type HostNames map[string]string

// ReadHostNames reads lines of a Node and a host name. A line without one is of a machine that did not answer.
func ReadHostNames(file string, text []byte) (HostNames, error) {
	of := HostNames{}
	for i, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		host := strings.ToLower(strings.Join(words[1:], " ")) // as a kubelet takes it
		if was, known := of[words[0]]; len(words) > 2 || known && was != host {
			return nil, &yamledit.Error{File: file, Line: i + 1, What: "not the name of one Node and of its host", Do: "write a line NODE HOSTNAME for each Node, as the command in the guide prints them"}
		}
		of[words[0]] = host
	}
	return of, nil
}

// Equal reports whether each name is known, and is that of the Node.
func (h HostNames) Equal() bool {
	return len(h) > 0 && len(h.Changes())+len(h.Unknown()) == 0
}

// Changes lists the Nodes that would register by another name, with it.
func (h HostNames) Changes() []string {
	return h.where(func(node, host string) bool { return host != "" && host != node }, " to ")
}

// Unknown lists the Nodes whose host names are not known.
func (h HostNames) Unknown() []string {
	return h.where(func(_, host string) bool { return host == "" }, "")
}

func (h HostNames) where(is func(node, host string) bool, joint string) []string {
	nodes := lists.Where(slices.Sorted(maps.Keys(h)), func(node string) bool { return is(node, h[node]) })
	return lists.Map(nodes, func(node string) string { return node + joint + h[node] })
}
