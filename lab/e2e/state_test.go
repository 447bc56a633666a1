// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/rke2"
)

// state is all that runs of rke-lm are there to change, as anyone can see it.
type state struct {
	Spec     any                 // of the cluster's object
	Managers map[string][]string // arguments of those that run, by component and machine
	Workload []string            `json:",omitempty"` // DaemonSets of kube-system with their pods' template
	Objects  []string            `json:",omitempty"` // roles and Secrets of kube-system
	Cordoned []string            `json:",omitempty"` // nodes, also those that only carry the mark
}

// state returns the state of the cluster. What differs from one Rancher to the next is left out.
func (c *managed) state() state {
	c.Helper()
	if c.engine() {
		return c.stateOf(rke1.Format(), c.object())
	}
	return c.stateOf(rke2.Format(), c.object()).named(c.T, c.downstream.Name, "lab")
}

// named is the state of a cluster as if it had another name, which is the beginning of those of its machines.
func (s state) named(t *testing.T, from, to string) (as state) {
	t.Helper()
	text, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(bytes.ReplaceAll(text, []byte(from+"-"), []byte(to+"-")), &as)
	}
	if err != nil {
		t.Fatal(err)
	}
	return as
}

// stateOf returns the same of a cluster of any Rancher, given its object.
func (c *runner) stateOf(format transform.Format, object map[string]any) state {
	c.Helper()
	spec := format.Kept(object)["spec"] // Rancher writes the same in many forms
	if config, is := spec.(map[string]any)["rkeConfig"].(map[string]any); is {
		delete(config, "etcdSnapshotCreate") // the number of the last snapshot
	}
	s := state{Spec: spec, Managers: map[string][]string{}}
	for _, m := range c.cluster.Managers() {
		if m.Alive() {
			s.Managers[m.Caller()] = m.Args
		}
	}
	s.Workload, s.Objects, s.Cordoned = c.workload(), c.objects(), c.cordoned()
	text := assert.Value(json.Marshal(s))(c)
	text = bytes.ReplaceAll(text, []byte(c.front.Charts()), []byte("https://charts.example.com"))
	var same state
	assert.NilError(c, json.Unmarshal(text, &same))
	return same
}

// object returns the cluster's object.
func (c *managed) object() map[string]any {
	c.Helper()
	at, name := c.resource()
	o := assert.Value(at.Get(c.Context(), name, metav1.GetOptions{}))(c)
	return o.Object
}

// resource is where the administrator of Rancher's own cluster finds that object, and its name.
func (c *managed) resource() (dynamic.ResourceInterface, string) {
	c.Helper()
	if c.engine() {
		client := assert.Value(dynamic.NewForConfig(c.rancher.Local.Config(cluster.Admin)))(c)
		return client.Resource(schema.GroupVersionResource{Group: "management.cattle.io", Version: "v3", Resource: "clusters"}), c.downstream.ID
	}
	return c.clusterObjects(), c.downstream.Name
}

// clusterObjects are the objects of the clusters that Rancher provisions.
func (c *managed) clusterObjects() dynamic.ResourceInterface {
	c.Helper()
	client := assert.Value(dynamic.NewForConfig(c.rancher.Local.Config(cluster.Admin)))(c)
	return client.Resource(schema.GroupVersionResource{Group: "provisioning.cattle.io", Version: "v1", Resource: "clusters"}).Namespace(rancher.Namespace)
}

func (s *scenario) workload() []string {
	s.Helper()
	list := assert.Value(s.client.AppsV1().DaemonSets(metav1.NamespaceSystem).List(s.Context(), metav1.ListOptions{}))(s)
	var found []string
	for _, d := range list.Items {
		template := assert.Value(json.Marshal(d.Spec.Template))(s)
		found = append(found, fmt.Sprintf("%s %s", d.Name, template))
	}
	return found
}

// objects names the roles and Secrets of kube-system, but for those in which helm keeps its history, those
// that Kubernetes makes by itself, and the permissions of the user who runs rke-lm.
func (s *scenario) objects() []string {
	s.Helper()
	roles := assert.Value(s.client.RbacV1().Roles(metav1.NamespaceSystem).List(s.Context(), metav1.ListOptions{LabelSelector: "!kubernetes.io/bootstrapping"}))(s)
	bindings := assert.Value(s.client.RbacV1().RoleBindings(metav1.NamespaceSystem).List(s.Context(), metav1.ListOptions{LabelSelector: "!kubernetes.io/bootstrapping"}))(s)
	secrets := assert.Value(s.client.CoreV1().Secrets(metav1.NamespaceSystem).List(s.Context(), metav1.ListOptions{LabelSelector: "owner!=helm"}))(s)
	var names []string
	for _, o := range roles.Items {
		names = append(names, "role "+o.Name)
	}
	for _, o := range bindings.Items {
		names = append(names, "binding "+o.Name)
	}
	for _, o := range secrets.Items {
		names = append(names, "secret "+o.Name)
	}
	return slices.DeleteFunc(names, func(n string) bool { return strings.Contains(n, " rke-lm-") })
}

// cordoned names the nodes that are closed, or are marked as if rke-lm had closed them.
func (s *scenario) cordoned() []string {
	s.Helper()
	list := assert.Value(s.client.CoreV1().Nodes().List(s.Context(), metav1.ListOptions{}))(s)
	var names []string
	for _, n := range list.Items {
		if _, marked := n.Annotations[action.CordonAnnotation]; marked || n.Spec.Unschedulable {
			names = append(names, n.Name)
		}
	}
	return names
}

// audited requires that the audit log has every write that reached a server, each with its result.
func (c *managed) audited() {
	c.Helper()
	text := assert.Value(os.ReadFile(c.auditLog))(c)
	entries, err := migrate.ReadAudit(text)
	if err != nil {
		c.Fatalf("audit log: %v", err)
	}
	logged := map[string]int{}
	for _, e := range entries {
		if e.Phase == migrate.Intent {
			logged[e.Object.Server+" "+e.Object.Name]++
		}
	}
	for _, e := range migrate.Unfinished(entries) {
		c.Errorf("the audit log does not tell what came of %s %s", e.Act, e.Object)
	}
	written := c.written()
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if written[name] > logged[name] {
			c.Errorf("%s was written to %d times, and the audit log has %d", name, written[name], logged[name])
		}
	}
	if len(written) == 0 {
		c.Error("nothing was written")
	}
}

// written counts the writes of rke-lm that a server did, by server and object. Its lock, its Events, its
// questions and the status of LeaderMigrations are none.
func (c *managed) written() map[string]int {
	count := map[string]int{}
	for _, r := range c.rancher.Requests() {
		switch {
		case r.Method == "GET" || r.Status >= 300 || strings.Contains(r.Query, "dryRun") || !strings.HasPrefix(r.Agent, "rke-lm"):
		case slices.ContainsFunc([]string{"/leases", "/events", "accessreviews", "/leadermigrations/"}, func(s string) bool { return strings.Contains(r.Path, s) }):
		default:
			name := r.Name
			if name == "" {
				name = r.Path[strings.LastIndex(r.Path, "/")+1:]
			}
			count[r.Cluster+" "+name]++
		}
	}
	return count
}
