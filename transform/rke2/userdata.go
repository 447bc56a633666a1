// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func machineConfigOf(pool yamledit.Node) string {
	if pool.StringAt("machineConfigRef", "kind") != aws.MachineConfigKind {
		return ""
	}
	return pool.StringAt("machineConfigRef", "name")
}

// userData returns the user data of a pool's machines; it does not exist where it was not given.
func (m *migration) userData(c effective.Class) yamledit.Node {
	o := effective.Object{Kind: aws.MachineConfigKind, Name: machineConfigOf(c.Pool)}
	for _, doc := range m.target.Related {
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
		found.At(c.Pool.Get("machineConfigRef"), "the user data of "+aws.MachineConfigKind+" "+machineConfigOf(c.Pool)+" has a hostname or fqdn: with external all machines of the pool "+c.Name+" register as one Node",
			"remove hostname and fqdn from the user data, or choose --end-state aws-override")
	}
}
