// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package leadermigration knows the migration lease, who may lock it, the manifests
// that permit it, and the configuration that says which controllers a manager runs
// under it.
//
// Invariant: rights are read as the RBAC authorizer reads them, never by the
// name of a role; a configuration is read as the manager of its version reads
// it, which accepts most mistakes silently.
package leadermigration

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	// Lease is the name of the migration lease unless it is chosen.
	Lease = transform.DefaultLease
	// Namespace holds the managers and their leases.
	Namespace = "kube-system"
	// ManagerUser is the identity of a kube-controller-manager with a client
	// certificate. Up to Kubernetes 1.30 its bootstrap rules grant get and
	// update on its main lease only.
	ManagerUser = "system:kube-controller-manager"
)

//go:embed lease-rbac.yaml
var grant string

// Grant returns a Role and a RoleBinding, both named as the lease, that let both
// managers lock it. They add to what is there, where the published patch of the
// bootstrap role replaces its rules.
func Grant(lease string) string { return strings.ReplaceAll(grant, Lease, lease) }

// Granted reports whether the documents let user ManagerUser lock a lease.
func Granted(docs []*yamledit.Document, lease string) bool {
	rules := rulesOf(docs)
	return !slices.ContainsFunc([]string{"get", "create", "update"}, func(verb string) bool {
		return !slices.ContainsFunc(rules, func(r yamledit.Node) bool { return allows(r, verb, lease) })
	})
}

// conflict returns a document that has the kind and name of one in Grant.
func conflict(docs []*yamledit.Document, lease string) (yamledit.Node, bool) {
	for _, d := range docs {
		switch d.Root().StringAt("kind") {
		case "Role", "RoleBinding":
			if d.Root().StringAt("metadata", "name") == lease && d.Root().StringAt("metadata", "namespace") == Namespace {
				return d.Root(), true
			}
		}
	}
	return yamledit.Node{}, false
}

// usedBy returns a binding that refers to the role in Grant. The documents at
// these indexes do not count.
func usedBy(docs []*yamledit.Document, except []int, lease string) (yamledit.Node, bool) {
	for i, d := range docs {
		ref := d.Root().Get("roleRef")
		if slices.Contains(except, i) || d.Root().StringAt("metadata", "namespace") != Namespace {
			continue
		}
		if ref.StringAt("kind") == "Role" && ref.StringAt("name") == lease {
			return d.Root(), true
		}
	}
	return yamledit.Node{}, false
}

// binds reports whether a binding is for ManagerUser and covers the namespace.
func binds(b yamledit.Node) bool {
	switch b.StringAt("kind") {
	case "ClusterRoleBinding":
	case "RoleBinding":
		if b.StringAt("metadata", "namespace") != Namespace {
			return false
		}
	default:
		return false
	}
	return slices.ContainsFunc(b.Get("subjects").Items(), func(s yamledit.Node) bool {
		return s.StringAt("kind") == "User" && s.StringAt("name") == ManagerUser
	})
}

// rulesOf returns the rules of the roles that bindings refer to: the first one of a kind and name.
func rulesOf(docs []*yamledit.Document) (rules []yamledit.Node) {
	bound := map[[2]string]bool{}
	for _, d := range docs {
		if binds(d.Root()) {
			bound[[2]string{d.Root().StringAt("roleRef", "kind"), d.Root().StringAt("roleRef", "name")}] = true
		}
	}
	for _, d := range docs {
		role := d.Root()
		kind, of := role.StringAt("kind"), [2]string{role.StringAt("kind"), role.StringAt("metadata", "name")}
		if bound[of] && (kind == "ClusterRole" || kind == "Role" && role.StringAt("metadata", "namespace") == Namespace) {
			delete(bound, of)
			rules = append(rules, role.Get("rules").Items()...)
		}
	}
	return rules
}

// allows reports whether a rule allows a verb on a lease. A create request has no
// name yet, so a rule with resourceNames never matches it.
func allows(rule yamledit.Node, verb, lease string) bool {
	if !has(rule, "apiGroups", "coordination.k8s.io") || !has(rule, "resources", "leases") || !has(rule, "verbs", verb) {
		return false
	}
	names := rule.Get("resourceNames")
	if names.Len() == 0 {
		return true
	}
	return verb != "create" && has(rule, "resourceNames", lease)
}

func has(rule yamledit.Node, field, want string) bool {
	return slices.ContainsFunc(rule.Get(field).Items(), func(n yamledit.Node) bool {
		s, _ := n.String()
		return s == want || s == "*" && field != "resourceNames"
	})
}

const accounts = "system:serviceaccount:"

// ServiceAccount returns the user that a service account is to the authorizer.
func ServiceAccount(namespace, name string) string { return accounts + namespace + ":" + name }

// CloudAccount is the identity of the cloud-controller-manager in kube-system.
func CloudAccount() string { return ServiceAccount(Namespace, CloudManager) }

// Groups returns the groups that an API server puts a user into.
func Groups(user string) []string {
	if account, is := strings.CutPrefix(user, accounts); is {
		namespace, _, _ := strings.Cut(account, ":")
		return []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
	}
	return []string{"system:authenticated"}
}

// Bundle is the manifests that a cluster's file carries in one string: additionalManifest of RKE2, addons of
// RKE. Those that are there stay, byte for byte and in their order; only documents that rke-lm writes are added
// or taken out.
type Bundle struct {
	Holder yamledit.Node // the mapping that has Key, or gets it
	Key    string
	Lease  string // name of the migration lease
}

// At returns the string; it may not exist, or be null.
func (b Bundle) At() yamledit.Node { return b.Holder.Get(b.Key) }

// Documents returns the manifests; none where the string is absent.
func (b Bundle) Documents() ([]*yamledit.Document, error) {
	at := b.At()
	if !at.Exists() || at.IsNull() {
		return nil, nil
	}
	in, err := at.Embedded()
	if err != nil {
		return nil, err
	}
	return in.Documents(), nil
}

// Append adds manifests after the existing ones.
func (b Bundle) Append(e *yamledit.Edit, text string) {
	at := b.At()
	if !at.Exists() || at.IsNull() {
		// A new string ends in the last line, so that it is stripped (|-).
		e.Put(b.Holder, strings.TrimSuffix(text, "\n"), b.Key)
		return
	}
	in, err := e.Embedded(at)
	if e.Fail(err); err != nil {
		return
	}
	in.Append(text)
}

// Remove takes manifests out by their indexes, and the key with the last one.
// Then the file does not show what was there before.
func (b Bundle) Remove(e *transform.Reverse, which []int) {
	alone, err := b.At().Embedded()
	if e.Fail(err); err != nil {
		return
	}
	remove(alone, which)
	empty, err := alone.Empty()
	if e.Fail(err); err != nil {
		return
	}
	if empty {
		e.Remove(b.At())
		e.Usual(b.At(), "it contains nothing else, and was either absent or empty before")
		return
	}
	in, err := e.Embedded(b.At())
	if e.Fail(err); err != nil {
		return
	}
	remove(in, which)
}

func remove(in *yamledit.Embedded, which []int) {
	for _, i := range which {
		in.Remove(i)
	}
}

// WhereIn returns the indexes of the documents of a text among others, and whether
// all of them are there.
func WhereIn(docs []*yamledit.Document, text string) (at []int, all bool) {
	wanted, err := yamledit.ParseStream(text)
	all = err == nil
	for _, want := range wanted {
		i := slices.IndexFunc(docs, func(d *yamledit.Document) bool {
			return d.Root().Exists() && yamledit.Same(d.Root().Value(), want.Root().Value())
		})
		if i >= 0 {
			at = append(at, i)
		}
		all = all && i >= 0
	}
	return at, all
}

// Finding returns a finding about a node of manifest i, with the path to it from the
// cluster's own root.
func (b Bundle) Finding(i int, n yamledit.Node, message, fix string) transform.Finding {
	f := transform.FindingAt(n, message, fix)
	path := fmt.Sprintf("%s[%d]", b.At().Path(), i)
	if f.Path != "" {
		path += "." + f.Path
	}
	f.Path = path
	return f
}

// Grant adds a Role and RoleBinding for the migration lease, unless the manifests
// grant it already. The edit fails where others of the name grant something else.
func (b Bundle) Grant(e *yamledit.Edit) {
	docs, err := b.Documents()
	if err != nil || Granted(docs, b.Lease) {
		e.Fail(err)
		return
	}
	if n, found := conflict(docs, b.Lease); found {
		e.Fail(n.Errorf("a manifest with the name "+b.Lease+" exists, but does not permit kube-controller-manager to acquire the migration lease", "complete its rules and subjects, or rename it"))
	}
	b.Append(e, Grant(b.Lease))
}

// Grants reports whether the manifests grant the migration lease, or cannot be read.
func (b Bundle) Grants() bool {
	granted, err := b.granted()
	return err != nil || granted
}

func (b Bundle) granted() (bool, error) {
	docs, err := b.Documents()
	return Granted(docs, b.Lease), err
}

// CheckGrant requires that the lease can be locked.
func (b Bundle) CheckGrant() error {
	granted, err := b.granted()
	return cmp.Or(err, transform.Require(granted, "the manifest would not permit %s to acquire the migration lease", ManagerUser))
}

// Revoke takes the Role and the RoleBinding out. The edit fails where the file does not
// tell that they are there for the migration alone.
func (b Bundle) Revoke(e *transform.Reverse) {
	docs, err := b.Documents()
	if e.Fail(err); err != nil {
		return
	}
	n, there := conflict(docs, b.Lease)
	if !there {
		return
	}
	ours, all := WhereIn(docs, Grant(b.Lease))
	if !all {
		e.Fail(transform.Lost(n, "this manifest differs from the one that rke-lm writes, so it may have another purpose"))
	}
	if n, used := usedBy(docs, ours, b.Lease); used {
		e.Fail(transform.Lost(n, "this manifest also uses the role "+b.Lease))
	}
	b.Remove(e, ours)
}

// CheckGranted refuses to give the flag back to a manager that could not lock the
// lease.
func (b Bundle) CheckGranted() error {
	if granted, err := b.granted(); err != nil || granted {
		return err
	}
	return transform.Lost(b.Holder, b.Key+" does not permit kube-controller-manager to acquire the migration lease, and its cloud controllers would not run")
}
