// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package effective works out what the machines of an RKE2 cluster get from arguments and files,
// as Rancher's planner does (rancher pkg/capr/planner), wherever they are written.
//
// Invariant: it reads the places that it is given, and knows nothing of the object that holds
// them. A key either reaches a machine or is dropped for a reason.
package effective

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	provv1 "github.com/rancher/rancher/pkg/apis/provisioning.cattle.io/v1"
	"github.com/rancher/wrangler/v3/pkg/name"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Machines are the machines of a cluster, and all that decides on their configuration.
type Machines struct {
	Doc     *yamledit.Document // whose budget the work is counted in
	Release Release
	Layers  []Layer // in the order of the merge; the first is the global one
	Files   []File
	DataDir yamledit.Node // Rancher's own field for data-dir; may be empty or not exist

	Classes []Class // at least one, once they are set
	Kinds   []Class // the first class of each configuration
	configs []Config

	ControlPlanes []Class // those of Kinds that run kube-apiserver and the managers
}

// Config is what Rancher gives a machine from the user's configuration, before
// it adds its own arguments.
type Config map[string]transform.Setting

// Values returns the configuration without its origins.
func (c Config) Values() map[string]any {
	values := make(map[string]any, len(c))
	for key, s := range c {
		values[key] = s.Value
	}
	return values
}

const (
	// ProviderKey is the cloud provider of a cluster.
	ProviderKey = "cloud-provider-name"
	// ComponentFlag is that of a component, among its arguments.
	ComponentFlag = "cloud-provider"

	dataDirKey  = "data-dir"
	kubeletArgs = "kubelet-arg"
	managerArgs = "kube-controller-manager-arg"
)

// Text returns a setting that is a string; "" for none.
func (c Config) Text(key string) string {
	s, _ := c[key].Value.(string)
	return s
}

// Provider returns the cloud provider of a component, by the key of its arguments: RKE2 puts the
// cluster's in front of the user's arguments, and the last occurrence counts.
func (c Config) Provider(component string) string {
	if a, found := args.Last(args.Of(c[component].Value), ComponentFlag); found {
		return a.Value
	}
	return c.Text(ProviderKey)
}

// ProviderOrigin returns what decides on the provider of a component.
func (c Config) ProviderOrigin(component string) yamledit.Node {
	if a, found := args.Last(args.Place(c[component].Origin), ComponentFlag); found {
		return a.Node()
	}
	return c[ProviderKey].Origin
}

// reach is all that the configuration of a class depends on; classes share it.
type reach struct {
	controlPlane, server bool
	selected             []int // the selectors that match, in their order
	layers               int   // how many of them are those of layers
	kind                 int
}

// Settle sets the classes, and works out what machines of each get.
func (m *Machines) Settle(classes []Class) {
	m.Classes = classes
	known, selects := map[string]*reach{}, m.selection()
	for i, class := range classes {
		r := m.reachOf(class, selects)
		key := fmt.Sprint(r)
		if known[key] == nil {
			r.kind = len(m.Kinds)
			known[key], class.reach = &r, &r
			m.Kinds = append(m.Kinds, class)
		}
		classes[i].reach = known[key]
	}
	m.ControlPlanes = lists.Where(m.Kinds, Class.ControlPlane)
	m.configs = lists.Map(m.Kinds, m.effectiveOf)
}

func (m *Machines) reachOf(class Class, selects func(map[string]string) []int) reach {
	r := reach{controlPlane: class.ControlPlane(), server: class.Server(), selected: selects(class.Labels)}
	r.layers, _ = slices.BinarySearch(r.selected, len(m.Layers))
	return r
}

// Effective returns what machines of a class get: the last matching layer wins
// per key, and the filter sees only the winner, so what it drops there also
// erases the good values before it (rancher pkg/capr/planner, addUserConfig).
//
// The class is one of the cluster's, and the caller must not change the result.
func (m *Machines) Effective(class Class) Config { return m.configs[class.Kind()] }

// ByLabels returns what works the configuration of a machine out from its own labels, as Rancher's
// planner does: regardless of who set them, and whatever classes there are.
func (m *Machines) ByLabels() func(labels map[string]string) map[string]any {
	selects := m.selection()
	return func(labels map[string]string) map[string]any {
		class := Class{Labels: labels}
		r := m.reachOf(class, selects)
		class.reach = &r
		return m.effectiveOf(class).Values()
	}
}

func (m *Machines) effectiveOf(class Class) Config {
	config := m.merge(class)
	dataDir := config[dataDirKey]
	for key, s := range config {
		if v, ok := m.Release.Keep(class.Server(), key, s.Value); ok {
			s.Value = v
			config[key] = s
		} else {
			delete(config, key)
		}
	}
	// Rancher sets this one after the filter, which never lets it through.
	if m.DataDir.StringAt() != "" {
		config[dataDirKey] = overriddenBy(dataDir, m.DataDir)
	}
	return config
}

// merge lays the matching layers over each other; nothing is dropped yet.
func (m *Machines) merge(class Class) Config {
	merged := Config{}
	for _, l := range m.matching(class) {
		for _, e := range m.entries(l) {
			merged[e.Key] = overriddenBy(merged[e.Key], e.Value)
		}
	}
	return merged
}

// overriddenBy returns the setting that n makes after s.
func overriddenBy(s transform.Setting, n yamledit.Node) transform.Setting {
	before := s.Overridden
	if s.Origin.Exists() {
		before = append(before, s.Origin)
	}
	return transform.Setting{Value: n.Value(), Origin: n, Overridden: before}
}

// matching are the layers that machines of a class get.
func (m *Machines) matching(class Class) []Layer {
	return lists.Map(class.reach.selected[:class.reach.layers], func(i int) Layer { return m.Layers[i] })
}

// weight is what the match of a selector, or a value or item that is merged, counts in the budget of a document.
const weight = 128

// entries are those of a layer, to be merged for one class.
func (m *Machines) entries(l Layer) []yamledit.Entry {
	list := l.Config.Entries()
	for _, e := range list {
		m.Doc.Visit(weight * (1 + e.Value.Len()))
	}
	return list
}

// Explain lists what machines of each class get, and what does not reach them.
func (m *Machines) Explain() []transform.MachineClass {
	kinds := lists.Map(m.Kinds, m.explained)
	return lists.Map(m.Classes, func(class Class) transform.MachineClass {
		out := kinds[class.Kind()]
		out.Name, out.Labels = class.Name, class.Labels
		return out
	})
}

func (m *Machines) explained(class Class) (out transform.MachineClass) {
	config := m.Effective(class)
	for _, key := range slices.Sorted(maps.Keys(config)) {
		s := config[key]
		s.Key, s.Why = key, m.layerOf(s.Origin).why()
		out.Settings = append(out.Settings, s)
	}
	merged := m.merge(class)
	for _, key := range slices.Sorted(maps.Keys(merged)) {
		if why := m.Release.reason(class.Server(), key, merged[key].Value); why != "" {
			out.Dropped = append(out.Dropped, transform.Dropped{Key: key, Origin: merged[key].Origin, Reason: why})
		}
	}
	return out
}

// layerOf returns the layer that holds a setting.
func (m *Machines) layerOf(setting yamledit.Node) Layer {
	if entry := setting.Parent().Parent(); entry.Parent().IsList() {
		return m.Layers[1+entry.Index()]
	}
	return m.Layers[0]
}

// Delivered returns the object whose data machines of a class get as a file, and its key: the last
// of several entries takes effect.
func (m *Machines) Delivered(class Class, file string) (from FileSource, key string, found bool) {
	for _, i := range slices.Backward(class.reach.selected[class.reach.layers:]) {
		if from, key, found = m.Files[i-len(m.Layers)].Source(file); found {
			return from, key, true
		}
	}
	return from, key, false
}

// Check compares every class before and after a change of the file, whatever the release. Keys that change
// need a promise: may is asked with both values, of which an absent one is nil. Errors name no value.
func (m *Machines) Check(after *Machines, may func(class Class, key string, before, now any) bool) error {
	a := *after
	if a.Release.Version != m.Release.Version { // a release's own arguments are no change of the file
		a.Release = m.Release
		a.configs = lists.Map(a.Kinds, a.effectiveOf)
	}
	if len(m.Classes) != len(a.Classes) {
		return fmt.Errorf("the machine classes would change")
	}
	seen := map[[2]int]bool{}
	for i, class := range m.Classes {
		now := a.Classes[i]
		if class.Name != now.Name || !maps.Equal(class.Labels, now.Labels) {
			return fmt.Errorf("the machine class %s would change", class.Name)
		}
		if kind := [2]int{class.Kind(), now.Kind()}; !seen[kind] {
			seen[kind] = true
			if err := checkClass(class, m.Effective(class).Values(), a.Effective(now).Values(), may); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkClass(class Class, before, after map[string]any, may func(class Class, key string, before, now any) bool) error {
	key, changes := transform.Unpromised(before, after, func(key string, before, now any) bool { return may(class, key, before, now) })
	return transform.Require(!changes, "%s would change on machines of class %s", key, class.Name)
}

// The labels by which Rancher knows a machine's roles and system (rancher
// pkg/capr).
const (
	LabelControlPlane = "rke.cattle.io/control-plane-role"
	LabelEtcd         = "rke.cattle.io/etcd-role"
	LabelWorker       = "rke.cattle.io/worker-role"
	LabelOS           = "cattle.io/os"
)

// The labels that only machines of pools have.
const (
	labelPool       = "rke.cattle.io/rke-machine-pool-name"
	labelDeployment = "cluster.x-k8s.io/deployment-name"
)

// Class is a machine class: all machines that have the same labels and hence
// get the same configuration.
type Class struct {
	Name   string
	Labels map[string]string // what selectors are matched against
	Pool   yamledit.Node     // the machine pool; none for a custom cluster
	reach  *reach
}

// is reads a role as the planner does: a pool's own labels may say something else
// than its role fields.
func (c Class) is(label string) bool { return c.Labels[label] == "true" }

// ControlPlane reports whether the machines run kube-apiserver and the managers.
func (c Class) ControlPlane() bool { return c.is(LabelControlPlane) }

// Etcd reports whether the machines run etcd.
func (c Class) Etcd() bool { return c.is(LabelEtcd) }

// Worker reports whether the machines run workloads.
func (c Class) Worker() bool { return c.is(LabelWorker) }

// Server reports whether the machines run rke2-server, as pure etcd machines do.
func (c Class) Server() bool { return c.ControlPlane() || c.Etcd() }

// Windows reports whether the machines run Windows.
func (c Class) Windows() bool { return c.Labels[LabelOS] == "windows" }

// Runs reports whether the machines run the component whose arguments are under a key, such as
// kubelet-arg: every machine a kubelet, control planes the others.
func (c Class) Runs(component string) bool { return component == kubeletArgs || c.ControlPlane() }

// Kind is the index in Machines.Kinds of the class whose configuration is the same.
func (c Class) Kind() int { return c.reach.kind }

// PoolLabels returns the labels of Rancher's machine template (rancher
// pkg/controllers/capr/provisioningcluster); machineDeploymentLabels are not
// among them, and the pool's own labels come last.
func PoolLabels(cluster string, p provv1.RKEMachinePool) map[string]string {
	labels := map[string]string{
		"cluster.x-k8s.io/cluster-name": cluster,
		labelDeployment:                 name.SafeConcatName(cluster, p.Name),
		"rke.cattle.io/cluster-name":    cluster,
		labelPool:                       p.Name,
		LabelOS:                         cmp.Or(p.MachineOS, "linux"),
	}
	if p.ControlPlaneRole {
		labels["cluster.x-k8s.io/control-plane"] = "true"
	}
	setRoles(labels, p.EtcdRole, p.ControlPlaneRole, p.WorkerRole)
	maps.Copy(labels, p.Labels)
	return labels
}

// setRoles leaves out the label of a role that a machine does not have.
func setRoles(labels map[string]string, etcd, controlPlane, worker bool) {
	for label, has := range map[string]bool{LabelEtcd: etcd, LabelControlPlane: controlPlane, LabelWorker: worker} {
		if has {
			labels[label] = "true"
		}
	}
}

// tier is machines that Rancher changes before it continues with the next tier (rancher
// pkg/capr/planner/planner.go, fullReconcile): those with etcd, other control planes, workers.
func tier(c Class) int {
	switch {
	case c.Etcd():
		return 0
	case c.ControlPlane():
		return 1
	}
	return 2
}

// Restarts compares what machines get: Rancher restarts rke2 where its configuration
// changes, tier by tier. It takes the order of control planes among each other, and that of workers.
func (m *Machines) Restarts(after *Machines, controlPlanes, workers string) (list []transform.Restart) {
	orders := [...]string{"the init node first, then one at a time", controlPlanes, workers}
	later, processes := lists.By(after.Classes, func(c Class) string { return c.Name }), map[[2]int]string{}
	classes := slices.Clone(m.Classes)
	slices.SortStableFunc(classes, func(a, b Class) int { return cmp.Compare(tier(a), tier(b)) })
	for _, class := range classes {
		now := later[class.Name] // no stage changes the classes
		kind := [2]int{class.Kind(), now.Kind()}
		process, known := processes[kind]
		if !known {
			process = m.restarted(class, after, now)
			processes[kind] = process
		}
		r := transform.Restart{Process: process, Classes: []string{class.Name}, Order: orders[tier(class)]}
		if n := len(list); n > 0 && list[n-1].Process == process && list[n-1].Order == r.Order {
			list[n-1].Classes = append(list[n-1].Classes, class.Name)
		} else if process != "" {
			list = append(list, r)
		}
	}
	return list
}

// Service is that of RKE2, which also runs the kubelet.
func Service(server bool) string {
	if server {
		return "rke2-server"
	}
	return "rke2-agent"
}

// restarted names the service of a class that restarts, and the components of Kubernetes
// in it whose arguments change; "" for none.
func (m *Machines) restarted(class Class, after *Machines, later Class) string {
	service, before, now := Service(class.Server()), m.Effective(class), after.Effective(later)
	if m.Release.Version != after.Release.Version {
		return service + " (all components: the release changes)"
	}
	differs := func(key string) bool { return !reflect.DeepEqual(before[key].Value, now[key].Value) }
	if reflect.DeepEqual(before.Values(), now.Values()) {
		return ""
	}
	components := lists.Where([]string{"kube-apiserver", "kube-controller-manager", "kubelet"}, func(c string) bool {
		return class.Runs(c+"-arg") && (differs(c+"-arg") || differs(ProviderKey))
	})
	if len(components) == 0 {
		return service
	}
	return service + " with " + strings.Join(components, ", ")
}
