// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/realrancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// subject is a machine class of a golden cluster, with the cluster before the stages and after each of them.
type subject struct {
	name  string
	class string
	forms []form
}

type form struct {
	stage string // after which it is so
	doc   *yamledit.Document
}

// subjects are one class of each golden cluster whose release Rancher's metadata lists: one with etcd, because
// Rancher gives such a machine its plan first.
func subjects(t *testing.T) (list []subject, releases []string) {
	t.Helper()
	for _, c := range golden.Inputs(t, "rke2-") {
		doc, err := yamledit.ParseString(c.Input(), c.Text())
		if err != nil {
			continue // a stream, or none that can be read
		}
		read, err := rke2.Open(doc, transform.Target{})
		if err != nil || !read.Release.Known {
			continue
		}
		forms := []form{{"none", doc}}
		target := transform.Target{EndState: transform.EndStateExternal, Accept: []string{"node-rename"}, ChartRepo: "https://charts.example.org"}
		plan, err := plan.Build(rke2.Format(), transform.Only(doc), target)
		if err != nil {
			continue
		}
		for _, s := range plan.Steps {
			if s.Changes() && len(s.After()) == 1 {
				forms = append(forms, form{s.Stage.Name, s.After()[0]})
			}
		}
		if len(forms) == 1 {
			continue // nothing of it changes
		}
		releases = append(releases, read.Version)
		// A control plane shows the most.
		i := slices.IndexFunc(read.Classes, func(c effective.Class) bool { return c.Etcd() && c.ControlPlane() })
		if i < 0 {
			i = slices.IndexFunc(read.Classes, effective.Class.Etcd)
		}
		if i >= 0 {
			list = append(list, subject{c.Name, read.Classes[i].Name, forms})
		}
	}
	slices.Sort(releases)
	return list, slices.Compact(releases)
}

// What Rancher's own planner renders for a machine is what rke-lm takes for its effective configuration, before the stages
// and after each of them.
func TestThePlannerRendersTheEffectiveConfiguration(t *testing.T) {
	list, releases := subjects(t)
	l := started(t, releases...)
	var plans sync.WaitGroup
	free := make(chan struct{}, 6)
	var mu sync.Mutex
	compared, wrong := 0, 0
	for n, s := range list {
		plans.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			done, err := l.compare(fmt.Sprintf("golden-%d", n), s)
			mu.Lock()
			defer mu.Unlock()
			compared += done
			if err != nil {
				wrong++
				l.Errorf("%s, class %s: %v", s.name, s.class, err)
			}
		})
	}
	plans.Wait()
	l.Logf("%d classes of golden clusters, %d plans of Rancher's planner compared, %d classes differ", len(list), compared, wrong)
	if compared < len(list) {
		l.Error("fewer plans than classes")
	}
}

// compare takes one cluster through its forms, and returns how many plans were as expected.
func (l *lab) compare(name string, s subject) (done int, err error) {
	var c *realrancher.Cluster
	var m *realrancher.Machine
	for _, f := range s.forms {
		read, err := rke2.Open(f.doc, transform.Target{})
		if err != nil {
			return done, err
		}
		i := slices.IndexFunc(read.Classes, func(c effective.Class) bool { return c.Name == s.class })
		if i < 0 {
			return done, fmt.Errorf("after %s the class is gone", f.stage)
		}
		class := read.Classes[i]
		spec := specOf(f.doc, read.Version)
		if c == nil {
			if c, m, err = l.machine(name, spec, class); err != nil {
				return done, err
			}
		} else if err := c.Update(l.Context(), spec); err != nil {
			return done, fmt.Errorf("after %s: %w", f.stage, err)
		}
		want := read.Effective(class).Values()
		manifest, _ := read.RKEConfig().Get("additionalManifest").String()
		deadline := time.Now().Add(cluster.ReadyTimeout)
		for {
			err = matches(m, want, manifest, class.ControlPlane())
			if err == nil || time.Now().After(deadline) {
				break
			}
			time.Sleep(200 * time.Millisecond)
		}
		if err != nil {
			return done, fmt.Errorf("after %s: %w (the machine: %v)", f.stage, err, m.Fault())
		}
		done++
	}
	return done, nil
}

// machine makes a cluster with one machine of the class, which Rancher bootstraps from, and those of the other roles.
func (l *lab) machine(name string, spec map[string]any, class effective.Class) (*realrancher.Cluster, *realrancher.Machine, error) {
	c, err := l.AddCluster(l.Context(), map[string]any{
		"apiVersion": "provisioning.cattle.io/v1", "kind": "Cluster",
		"metadata": map[string]any{"name": name, "namespace": realrancher.Namespace}, "spec": spec,
	})
	if err != nil {
		return nil, nil, err
	}
	roles := realrancher.Roles{ControlPlane: class.ControlPlane(), Etcd: class.Etcd(), Worker: class.Worker()}
	m, err := c.AddMachine(l.Context(), name+"-first", roles, class.Labels)
	if err != nil {
		return nil, nil, err
	}
	rest := realrancher.Roles{ControlPlane: !roles.ControlPlane, Worker: !roles.Worker}
	if rest.ControlPlane || rest.Worker {
		_, err = c.AddMachine(l.Context(), name+"-rest", rest, nil)
	}
	return c, m, err
}

// specOf is what of the cluster the configuration of its machines depends on.
func specOf(doc *yamledit.Document, version string) map[string]any {
	object, _ := doc.Root().Value().(map[string]any)
	spec, _ := object["spec"].(map[string]any)
	engine, _ := spec["rkeConfig"].(map[string]any)
	kept := map[string]any{}
	for _, key := range []string{"machineGlobalConfig", "machineSelectorConfig", "additionalManifest"} {
		if value, has := engine[key]; has {
			kept[key] = value
		}
	}
	return map[string]any{"kubernetesVersion": version, "rkeConfig": kept}
}

// added are the keys that the planner sets itself.
var added = []string{"agent-token", "token", "server", "cni", "node-ip", "node-external-ip", "node-label", "node-taint", "node-name", "private-registry"}

// extended are the keys to whose values it appends.
var extended = []string{"kube-controller-manager-arg", "kube-controller-manager-extra-mount", "kube-scheduler-arg", "kube-scheduler-extra-mount"}

// files are the keys whose content becomes a file.
var files = []string{"audit-policy-file", "cloud-provider-config", "private-registry", "flannel-conf"}

// matches compares the configuration that a machine runs with the effective one.
func matches(m *realrancher.Machine, want map[string]any, manifest string, controlPlane bool) error {
	config, err := m.Config()
	if err != nil {
		return err
	}
	alone := []string{"disable-scheduler", "disable-apiserver", "disable-controller-manager"} // what only etcd gets
	for _, key := range slices.Sorted(maps.Keys(want)) {
		got, has := config[key]
		value := plain(want[key])
		switch {
		case !has && key == "kube-apiserver-arg" && len(texts(value)) == 0: // the webhook takes an empty one away
		case !has:
			return fmt.Errorf("%s: %v is not in the plan", key, value)
		case slices.Contains(files, key):
		case key == "kube-apiserver-arg" || slices.Contains(extended, key): // as a list, whatever it was
			if g, w := texts(got), texts(value); len(g) < len(w) || !slices.Equal(g[:len(w)], w) || key == "kube-apiserver-arg" && len(g) > len(w) {
				return fmt.Errorf("%s: %v, want %v", key, g, w)
			}
		case !reflect.DeepEqual(got, value):
			return fmt.Errorf("%s: %v, want %v", key, got, value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if _, known := want[key]; !known && !slices.Contains(added, key) && !slices.Contains(extended, key) && !slices.Contains(alone, key) {
			return fmt.Errorf("%s: %v, want none", key, config[key])
		}
	}
	text, _ := m.File("/var/lib/rancher/rke2/server/manifests/rancher/addons.yaml")
	if controlPlane && !strings.Contains(strings.TrimSpace(text), strings.TrimSpace(manifest)) {
		return fmt.Errorf("additionalManifest is not in the plan: %q, want %q", text, manifest)
	}
	return nil
}

// plain returns a value as JSON is read.
func plain(value any) (read any) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		return err
	}
	return read
}

// texts returns a list, or a string as a list of one.
func texts(value any) (list []string) {
	switch value := value.(type) {
	case string:
		if value != "" {
			list = append(list, value)
		}
	case []any:
		for _, item := range value {
			list = append(list, fmt.Sprint(item))
		}
	}
	return list
}
