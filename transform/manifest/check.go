// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// promise is what a stage may change.
type promise struct {
	flags         []string // that may come, go or get another value
	configuration bool     // its volume and its mount may come or go
	release       bool     // the image's tag, or the version of a ClusterConfiguration
	mark          bool     // the annotation of a finished migration
	server        bool     // the provider of kube-apiserver, in a ClusterConfiguration
}

// check compares the manifest with its successor: what was promised apart, the
// two hold the same values, and no field came that the API does not know.
func (m *migration) check(after *migration, p promise) error {
	return cmp.Or(
		transform.Require(slices.Equal(m.otherArguments(p), after.otherArguments(p)), "other arguments of %s would change", m.Component),
		transform.Require(reflect.DeepEqual(m.others(p), after.others(p)), "more than the arguments and the configuration of %s would change", m.Component),
		m.strict.Allows(after.strict))
}

// otherArguments returns the arguments as they are written, but for the promised.
func (m *Manifest) otherArguments(p promise) []string {
	others := args.Without(m.arguments.List(), p.flags...)
	return lists.Map(others, func(a args.Arg) string { return a.Text + " " + a.Value })
}

// others returns the values of the document without its arguments and without
// what was promised. Lists without items count as absent.
func (m *Manifest) others(p promise) any {
	arguments := map[string]bool{}
	for _, a := range m.arguments.List() {
		for _, n := range a.Nodes {
			arguments[n.Path()] = true
		}
	}
	server, _ := m.serverProvider()
	release, _ := m.versionAt()
	return without(m.Root, func(n yamledit.Node) bool {
		return arguments[n.Path()] || p.configuration && m.isConfiguration(n) || p.mark && n.Key() == markKey ||
			p.server && server.Node().Exists() && server.Has(n) || p.release && release.Exists() && n.Same(release)
	})
}

// without returns a node's value without the nodes that are left out, and without
// the collections that hold nothing else.
func without(n yamledit.Node, out func(yamledit.Node) bool) any {
	if !n.IsMap() && !n.IsList() {
		return n.Value()
	}
	fields := map[string]any{}
	for _, e := range n.Entries() {
		if v := without(e.Value, out); !out(e.Value) && v != nil {
			fields[e.Key] = v
		}
	}
	var items []any
	for _, item := range n.Items() {
		if v := without(item, out); !out(item) && v != nil {
			items = append(items, v)
		}
	}
	switch {
	case len(fields) > 0:
		return fields
	case len(items) > 0:
		return items
	}
	return nil
}

// isConfiguration reports whether a node is the mount of the configuration, or
// its volume.
func (m *Manifest) isConfiguration(n yamledit.Node) bool {
	if n.StringAt("name") == volumeName {
		return true
	}
	a, found := m.flag(configFlag)
	if !found || !n.IsMap() {
		return false
	}
	mount := m.mountOf(a.Value)
	return mount.StringAt("mountPath") == a.Value && (n.Same(mount) || n.Same(m.volumeOf(mount)))
}

// shapes decode the types of the kinds.
var shapes = map[string]func(root yamledit.Node, what string) (s k8s.Strictness, at yamledit.Node, wrong string){
	kindPod: k8s.CheckType[corev1.Pod], kindDeployment: k8s.CheckType[appsv1.Deployment], kindDaemonSet: k8s.CheckType[appsv1.DaemonSet],
	kindConfiguration: k8s.CheckType[clusterConfiguration], kindInit: k8s.CheckType[nodeConfiguration], kindJoin: k8s.CheckType[nodeConfiguration],
}

// checkJoined requires that the manager takes part in the migration, and sees the
// configuration that it is given.
func (m *migration) checkJoined() error {
	a, configured := m.flag(configFlag)
	return cmp.Or(
		transform.Require(m.on(leaderFlag), "%s would not get --%s", m.Component, leaderFlag),
		transform.Require(len(m.timings()) == 0, "%s would not get the timings of short leases", m.Component),
		transform.Require(configured || !m.configures(), "%s would not get --%s", m.Component, configFlag),
		transform.Require(m.mounted(a.Value) || !m.configures(), "the container would not see the file of --%s", configFlag))
}

// checkLeft requires that nothing of the migration is left on the manager.
func (m *migration) checkLeft() error {
	kept, keeps := lists.Find([]string{leaderFlag, configFlag}, func(flag string) bool { return args.Has(m.arguments.List(), flag) })
	return transform.Require(!keeps, "%s would keep --%s", m.Component, kept)
}
