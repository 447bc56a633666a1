// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package k8s has the releases of Kubernetes, with the path from one to the next, and those of Rancher, and
// reads documents as the types of their APIs.
//
// Invariant: a cluster moves at most one minor up and never down, whatever its format; how a format writes
// its releases is the format's to know. A type reads and checks and never writes, and what is said of a
// document names fields and never quotes a value.
package k8s

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/mod/semver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// FirstMigrates is the first minor with leader migration by its default configuration.
const FirstMigrates = "v1.22"

// From reports whether a release is of a minor or a later one.
func From(version, minor string) bool { return semver.Compare(semver.MajorMinor(version), minor) >= 0 }

// Minor returns the number of a release's minor, or 0 for what is no release.
func Minor(version string) int {
	_, minor, _ := strings.Cut(semver.MajorMinor(version), ".")
	n, err := strconv.Atoi(minor)
	if err != nil {
		return 0
	}
	return n
}

// atLeast compares two releases without what a format adds after the patch, so
// that v1.26.9-rancher1-1 is as late as v1.26.9.
func atLeast(version, least string) bool { return semver.Compare(plain(version), plain(least)) >= 0 }

// Since reports whether a release has what came with these, each the first one of its minor. Minors
// after the last that is named have it from the start, others do not have it.
func Since(version string, first ...string) bool {
	minor := semver.MajorMinor(version)
	i := slices.IndexFunc(first, func(f string) bool { return semver.MajorMinor(f) == minor })
	if i < 0 {
		return semver.Compare(minor, semver.MajorMinor(first[len(first)-1])) > 0
	}
	return atLeast(version, first[i])
}

func plain(version string) string {
	version, _, _ = strings.Cut(version, "+")
	version, _, _ = strings.Cut(version, "-")
	return version
}

// IsName reports whether Kubernetes takes a name for an object of most kinds: a
// DNS subdomain.
func IsName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// IsNamespace reports whether Kubernetes takes a name for a namespace: a DNS label.
func IsNamespace(name string) bool { return len(validation.IsDNS1123Label(name)) == 0 }

// CheckNames fails for an object whose name or namespace Kubernetes would refuse. A
// file may leave both out.
func CheckNames(metadata yamledit.Node) error {
	name, namespace := metadata.Get("name"), metadata.Get("namespace")
	if s, is := name.String(); is && s != "" && !IsName(s) {
		return name.Errorf("not a name that Kubernetes accepts", "use lower case letters, digits, dashes and dots, at most 253, and a letter or digit at both ends")
	}
	if s, is := namespace.String(); is && s != "" && !IsNamespace(s) {
		return namespace.Errorf("not a namespace that Kubernetes accepts", "use lower case letters, digits and dashes, at most 63, and a letter or digit at both ends")
	}
	return nil
}

// Statement is what a file says of its release.
type Statement struct {
	At      yamledit.Node // states it
	Holder  yamledit.Node // would hold At
	Key     string        // of At
	Stated  string
	Assumed string // replaces a release that the file does not state
	Format  string // "an RKE2", as a message calls a release of it
	Example string
	Is      func(version string) bool // well formed for the format
}

// Version returns the stated release, or else the assumed one. It fails where
// there is none, and refuses one without leader migration.
func (s Statement) Version() (string, error) {
	version, at := s.Stated, s.At
	switch {
	case s.Is(s.Stated):
	case s.Assumed == "" && s.Stated == "":
		return "", s.Holder.Errorf(s.Key+" is absent", "set it, or use --assume-version")
	case s.Assumed == "":
		return "", s.At.Errorf("not "+s.Format+" release such as "+s.Example, "correct it, or use --assume-version")
	case s.Is(s.Assumed):
		version, at = s.Assumed, s.Holder.Document().Root()
	default:
		return "", s.Holder.Document().Root().Errorf("the assumed version is not "+s.Format+" release", "give --assume-version a release such as "+s.Example)
	}
	if semver.Compare(semver.MajorMinor(version), FirstMigrates) < 0 {
		return "", transform.NotMigratable(at, "leader migration requires Kubernetes 1.22 or later", "upgrade the cluster first")
	}
	return version, nil
}

// Sets reports whether a writer of an object has set a field, such as f:spec and f:type.
func Sets(by metav1.ManagedFieldsEntry, field ...string) bool {
	var fields map[string]any
	if by.FieldsV1 == nil || json.Unmarshal(by.FieldsV1.GetRawBytes(), &fields) != nil {
		return false
	}
	_, set, _ := unstructured.NestedFieldNoCopy(fields, field...)
	return set
}

// Image is a reference to an image in its parts: name:tag@digest, of which tag and
// digest may be absent. The name has the registry, which may have a port.
type Image struct{ Name, Tag, Digest string }

// ParseImage reads a reference.
func ParseImage(ref string) (i Image) {
	i.Name, i.Digest, _ = strings.Cut(ref, "@")
	if at := strings.LastIndex(i.Name, ":"); at > strings.LastIndex(i.Name, "/") {
		i.Name, i.Tag = i.Name[:at], i.Name[at+1:]
	}
	return i
}

// Base is the last part of the name.
func (i Image) Base() string { return path.Base(i.Name) }

// RancherMinor is what a migration depends on and differs between the minors of Rancher, each fact with its source.
type RancherMinor struct {
	Minor string // such as v2.8
	// Webhook is the minor of rancher/webhook that it installs (rancher build.yaml, or
	// package/Dockerfile up to 2.8).
	Webhook string
	// ClusterAPI is the version in which its controllers write cluster.x-k8s.io (rancher
	// pkg/capr/common.go); v1beta1 is served by all of them.
	ClusterAPI string
	// ExternalProvider is its first release that knows the provider external-aws of RKE; ""
	// where it provisions no clusters of RKE: 2.12 removed them (rancher commit
	// 2252fc8cf2).
	ExternalProvider string
	// OrderKept is its first release whose webhook keeps the order of kube-apiserver-arg
	// where a PSACT is set; "" for none. Before it ranges over a map (rancher/webhook
	// pkg/resources/provisioning.cattle.io/v1/cluster/mutator.go, toMap, until v0.6.7 and
	// v0.7.2).
	OrderKept string
	// ArgsKept is its first release whose webhook keeps every argument there; "" for none.
	// Before it drops those without a value, and all but the last one of a flag (the same
	// file, keyValueArgs, until v0.6.12, v0.7.6 and v0.8.2).
	ArgsKept string
	// PlainEntry means that the page of its interface that edits a cluster fails to load
	// where machineSelectorConfig has no entry without a selector (rancher/dashboard
	// #9529, #9888, #11987).
	PlainEntry bool
	// TokenForbidden is its first release that answers 403, for the user
	// system:unauthenticated, to a request for a managed cluster whose token it does not
	// accept; "" where it answers 401. From then on these requests can also have the token of
	// a service account of that cluster, so that its permissions are checked in any case
	// (rancher pkg/multiclustermanager/routes.go, saauthed: in v2.9.0 and every release up to
	// v2.14.4, in none up to v2.8.15; pkg/auth/requests/service_account.go).
	TokenForbidden string
}

// RancherMinors lists the minors, in their order.
func RancherMinors() []RancherMinor {
	return []RancherMinor{
		{Minor: "v2.7", Webhook: "v0.3", ClusterAPI: "v1beta1", ExternalProvider: "v2.7.11", PlainEntry: true},
		{Minor: "v2.8", Webhook: "v0.4", ClusterAPI: "v1beta1", ExternalProvider: "v2.8.0", PlainEntry: true},
		{Minor: "v2.9", Webhook: "v0.5", ClusterAPI: "v1beta1", ExternalProvider: "v2.9.0", PlainEntry: true, TokenForbidden: "v2.9.0"},
		{Minor: "v2.10", Webhook: "v0.6", ClusterAPI: "v1beta1", ExternalProvider: "v2.10.0", OrderKept: "v2.10.7", TokenForbidden: "v2.10.0"},
		{Minor: "v2.11", Webhook: "v0.7", ClusterAPI: "v1beta1", ExternalProvider: "v2.11.0", OrderKept: "v2.11.3", ArgsKept: "v2.11.7", TokenForbidden: "v2.11.0"},
		{Minor: "v2.12", Webhook: "v0.8", ClusterAPI: "v1beta1", OrderKept: "v2.12.0", ArgsKept: "v2.12.3", TokenForbidden: "v2.12.0"},
		{Minor: "v2.13", Webhook: "v0.9", ClusterAPI: "v1beta1", OrderKept: "v2.13.0", ArgsKept: "v2.13.0", TokenForbidden: "v2.13.0"},
		{Minor: "v2.14", Webhook: "v0.10", ClusterAPI: "v1beta2", OrderKept: "v2.14.0", ArgsKept: "v2.14.0", TokenForbidden: "v2.14.0"},
	}
}

// Rancher is a release of Rancher, such as v2.8.5 or 2.8.5.
type Rancher struct {
	RancherMinor
	Known bool // the table has its minor

	version string
}

// RancherOf looks a release up. One that is not in the table is treated as the strictest of those that are.
func RancherOf(version string) Rancher {
	v := Rancher{RancherMinor: strictest, version: "v" + strings.TrimPrefix(version, "v")}
	for _, r := range RancherMinors() {
		if r.Minor == semver.MajorMinor(v.version) {
			v.RancherMinor, v.Known = r, true
		}
	}
	return v
}

// strictest is a Rancher of which nothing good is known.
var strictest = RancherMinor{PlainEntry: true}

// Since reports whether the release is as late as one of its minor, which the table has;
// "" is later than all.
func (v Rancher) Since(first string) bool { return first != "" && atLeast(v.version, first) }

// FirstRancher returns the releases from which on a fact holds, with those before it in the
// table, for messages: "2.11.7, 2.12.3 and later".
func FirstRancher(of func(RancherMinor) string) string {
	firsts := lists.Found(RancherMinors(), func(r RancherMinor) (string, bool) { return strings.CutPrefix(of(r), "v") })
	for len(firsts) > 1 && strings.HasSuffix(firsts[len(firsts)-1], ".0") && strings.HasSuffix(firsts[len(firsts)-2], ".0") {
		firsts = firsts[:len(firsts)-1]
	}
	return strings.Join(firsts, ", ") + " and later"
}

// Gates is the component of the table that lists feature gates, which all components read.
const Gates = "feature-gates"

//go:embed flags.tsv
var flagsTSV string

// minors is a range of them.
type minors struct{ first, last int }

// flagTable has the minors of each flag, by component and name, and those of the table.
var flagTable = sync.OnceValues(func() (of map[string]map[string][]minors, all minors) {
	of, all = map[string]map[string][]minors{}, minors{first: 1 << 10}
	for line := range strings.Lines(flagsTSV) {
		var component, name string
		var m minors
		if _, err := fmt.Sscan(line, &component, &name, &m.first, &m.last); err != nil || line[0] == '#' {
			continue
		}
		if of[component] == nil {
			of[component] = map[string][]minors{}
		}
		of[component][name] = append(of[component][name], m)
		all = minors{min(all.first, m.first), max(all.last, m.last)}
	}
	return of, all
})

// FlagOf reports whether a component of a release has a flag, and in which minor it last had it; 0 for
// never. A release after the table is like the last one in it, for which sure is false. Of what is not
// in the table nothing is known.
func FlagOf(component, name, version string) (has bool, last int, sure bool) {
	table, all := flagTable()
	minor := Minor(version)
	if table[component] == nil || minor < all.first {
		return true, 0, false
	}
	for _, m := range table[component][name] {
		has = has || m.first <= min(minor, all.last) && min(minor, all.last) <= m.last
		last = m.last
	}
	return has, last, minor <= all.last
}
