// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	leadersKey = "controllerLeaders"
	lockKey    = "resourceLock"
)

func leaders(root yamledit.Node) []yamledit.Node { return root.Get(leadersKey).Items() }

// at is a key of the configuration, or all of it where the key is not there.
func (r reading) at(key string) yamledit.Node { return yamledit.First(r.root.Get(key), r.root) }

// entry is what an entry has for a key, and the place of that; all of the entry where the key is not there.
type entry struct {
	value string
	at    yamledit.Node
}

// entries are those of the list, for a key.
func (r reading) entries(key string) []entry {
	return lists.Map(leaders(r.root), func(n yamledit.Node) entry { return entry{n.StringAt(key), yamledit.First(n.Get(key), n)} })
}

// lists reports whether an entry names a controller as the manager does.
func (r reading) lists(c controller) bool {
	return slices.ContainsFunc(leaders(r.root), func(n yamledit.Node) bool { return c.is(n.StringAt("name"), r.Version) })
}

// manager is how messages call the manager.
func (r reading) manager() string {
	name := cmp.Or(r.Component, "the manager")
	return strings.TrimSpace(name + " " + r.Version)
}

func (r reading) cloudNode(found *transform.Findings) {
	for _, e := range r.entries("name") {
		if cloudNode.either(e.value) {
			found.At(e.at, "this controller is never migrated: it runs in the cloud-controller-manager from its start", "remove the entry")
		}
	}
}

func (r reading) ipam(found *transform.Findings) {
	for _, e := range r.entries("name") {
		if !r.NodeIPAM && nodeIPAM.either(e.value) {
			found.At(e.at, "the cloud-controller-manager of AWS has no such controller: no manager would assign pod CIDRs to nodes", "remove the entry")
		}
	}
}

func (r reading) unknown(found *transform.Findings) {
	for _, e := range r.entries("name") {
		c, known := lists.Find(listed, func(c controller) bool { return c.either(e.value) })
		switch {
		case cloudNode.either(e.value), nodeIPAM.is(e.value, r.Version):
		case known && r.lists(c): // a name of another version does no harm next to the right one
		case known:
			found.At(e.at, r.manager()+" has this controller under another name, and would run it regardless of the migration lease", "write "+c.name(r.Version))
		default:
			found.At(e.at, "no manager has a controller of this name", "write one of "+strings.Join(migrated(r.Version, false), ", "))
		}
	}
}

// notListed is silent where a name is wrong: then that is the mistake.
func (r reading) notListed(found *transform.Findings) {
	var unknown transform.Findings
	if r.unknown(&unknown); len(leaders(r.root)) == 0 || len(unknown) > 0 {
		return
	}
	for _, c := range cloudControllers {
		if !r.lists(c) {
			found.At(r.at(leadersKey), r.manager()+" runs "+c.name(r.Version)+" regardless of who holds the migration lease, because it is not listed", "list it")
		}
	}
}

func (r reading) duplicates(found *transform.Findings) {
	seen := map[string]bool{}
	for _, e := range r.entries("name") {
		if seen[e.value] {
			found.At(e.at, "the controller is listed twice, and the last entry takes effect", "remove one of the two")
		}
		seen[e.value] = e.value != ""
	}
}

func (r reading) empty(found *transform.Findings) {
	if len(leaders(r.root)) == 0 {
		found.At(r.at(leadersKey), "no controller is listed, so both managers run all of them at the same time", "list "+strings.Join(migrated(r.Version, false), ", "))
	}
}

func (r reading) components(found *transform.Findings) {
	for _, e := range r.entries("component") {
		switch {
		case e.value == Manager, e.value == CloudManager, e.value == wildcard && knowsWildcard(r.Version):
		case e.value == wildcard:
			found.At(e.at, r.manager()+" reads * as a name, so it never starts the controller", "write "+r.Component)
		default:
			found.At(e.at, "no manager has this name, so none starts the controller", "write "+Manager+", "+CloudManager+` or "*"`)
		}
	}
}

// mirrored needs to know whose configuration it is.
func (r reading) mirrored(found *transform.Findings) {
	other := map[string]string{Manager: CloudManager, CloudManager: Manager}[r.Component]
	for _, e := range r.entries("component") {
		if other != "" && e.value == other {
			found.At(e.at, r.Component+" never starts this controller, even while it holds the migration lease", "write "+r.Component+` or "*"`)
		}
	}
}

func (r reading) lease(found *transform.Findings) {
	switch name := r.root.StringAt("leaderName"); {
	case name == "":
		found.At(r.at("leaderName"), "the migration lease has no name, and the manager exits", "write leaderName: "+Config{Lease: r.Lease}.lease())
	case r.Lease != "" && name != r.Lease:
		found.At(r.at("leaderName"), "the managers have permission on another lease, "+r.Lease, "use the same name in both configurations and in the Role")
	}
}

// api returns the version of the configuration, and whether the manager reads it.
func (r reading) api() (string, bool) {
	name, is := strings.CutPrefix(r.root.StringAt("apiVersion"), group+"/")
	return name, is && slices.Contains(apiVersions(r.Version), name)
}

func (r reading) apiVersion(found *transform.Findings) {
	known := apiVersions(r.Version)
	if _, ok := r.api(); !ok && len(known) > 0 {
		found.At(r.at("apiVersion"), r.manager()+" does not read this version of the configuration, and exits", fmt.Sprintf("write %s/%s", group, known[0]))
	}
}

func (r reading) lockMissing(found *transform.Findings) {
	if api, _ := r.api(); needsLock(api) && r.root.StringAt(lockKey) != "leases" {
		found.At(r.at(lockKey), "this version of the configuration needs the lock to be leases", "write resourceLock: leases")
	}
}

func (r reading) lockExtra(found *transform.Findings) {
	if api, _ := r.api(); api == "v1" && r.root.Get(lockKey).Exists() {
		found.At(r.at(lockKey), "v1 does not have this key: managers ignore it, and from 1.36 on they exit", "remove it")
	}
}

// keys compares what is there with the type; the names of its fields are case
// sensitive.
func (r reading) keys(found *transform.Findings) {
	strangers(found, r.root, "apiVersion", "kind", "leaderName", lockKey, leadersKey)
	for _, n := range leaders(r.root) {
		strangers(found, n, "name", "component")
	}
}

func strangers(found *transform.Findings, m yamledit.Node, known ...string) {
	for _, e := range m.Entries() {
		if !slices.Contains(known, e.Key) {
			found.At(e.Value, "unknown key: managers ignore it, and from 1.36 on they exit", "write one of "+strings.Join(known, ", ")+", or remove it")
		}
	}
}
