// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// kubectl prints no list of a kind without objects among several, and an empty one of
// a single kind.
func TestADumpShowsWhatWasRead(t *testing.T) {
	const node, lease = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n", "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: x, namespace: "
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nodes":                    {node, []string{observed.Nodes}},
		"a lease":                  {node + "---\n" + lease + "kube-system}\n", []string{observed.Nodes, observed.Leases}},
		"a lease of another team":  {node + "---\n" + lease + "team}\n", []string{observed.Nodes}},
		"an empty list":            {node + "---\napiVersion: coordination.k8s.io/v1\nkind: LeaseList\nitems: []\n", []string{observed.Nodes, observed.Leases}},
		"a pod of another program": {node + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: kube-system}\n", []string{observed.Nodes, observed.Pods}},
		"a kind of another group":  {node + "---\napiVersion: example.com/v1\nkind: Pod\nmetadata: {name: p, namespace: kube-system}\n", []string{observed.Nodes}},
	} {
		o, err := observe.ReadDumpFrom("d.yaml", strings.NewReader(c.text))
		assert.Truef(t, err == nil && slices.Equal(o.Kinds, c.want), "%s: %v, %v", name, o, err)
	}
}

func dumped(t *testing.T, text string) (*observed.Observation, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "dump")
	assert.NilError(t, os.WriteFile(file, []byte(text), 0o644))
	return observe.ReadDump(file)
}

const (
	nodeJSON  = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"one","uid":"u-1","managedFields":[{"manager":"kubelet","fieldsV1":{"f:spec":{"f:providerID":{}}}}]},"spec":{"providerID":"aws:///eu-west-1a/i-0a4c19d2e7b35f801"}}`
	leaseJSON = `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"kube-controller-manager","namespace":"kube-system"},"spec":{"holderIdentity":"one_8f0e","leaseDurationSeconds":15}}`
	bareJSON  = `{"metadata":{"name":"one","uid":"u-1"},"spec":{"providerID":"aws:///eu-west-1a/i-0a4c19d2e7b35f801"}}`
)

func list(items ...string) string {
	return `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":""},"items":[` + strings.Join(items, ",") + `]}`
}

func TestWhatKubectlPrintsIsReadInAllItsForms(t *testing.T) {
	for name, text := range map[string]string{
		"a list of mixed kinds":                list(nodeJSON, leaseJSON),
		"values of JSON one after the other":   list(nodeJSON) + "\n" + list(leaseJSON) + "\n",
		"JSON with marks of YAML between":      nodeJSON + "\n---\n" + leaseJSON + "\n",
		"objects that are there again":         list(nodeJSON, leaseJSON) + list(nodeJSON),
		"a list in a list":                     list(list(nodeJSON), leaseJSON),
		"a list of one kind":                   `{"apiVersion":"v1","kind":"NodeList","items":[` + bareJSON + `]}` + leaseJSON,
		"YAML":                                 "apiVersion: v1\nkind: List\nitems:\n- " + nodeJSON + "\n- " + leaseJSON + "\n",
		"several documents of YAML":            "---\n" + "apiVersion: v1\nkind: NodeList\nitems: [" + bareJSON + "]\n---\n# nothing\n---\n" + leaseJSON + "\n",
		"kinds of the same names by others":    list(nodeJSON, leaseJSON, `{"apiVersion":"longhorn.io/v1beta2","kind":"Node","metadata":{"name":"one","namespace":"longhorn-system","uid":"u-7"}}`, `{"apiVersion":"management.cattle.io/v3","kind":"Node","metadata":{"name":"m-4x7k2","namespace":"c-m-4x7k2p9q"}}`),
		"kinds of no use that are there twice": list(nodeJSON, leaseJSON, `{"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"e","uid":"u-1"}}`, `{"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"e","uid":"u-2"}}`),
	} {
		o, err := dumped(t, text)
		assert.Truef(t, err == nil && len(o.Nodes) == 1 && o.Nodes[0].Name == "one" && o.Nodes[0].ProviderID != "" && len(o.Leases) == 1 && o.Partial, "%s: %+v, %v", name, o, err)
	}
}

func TestADumpThatIsNotOfOneClusterIsRefused(t *testing.T) {
	const whole = "apiVersion: rke-lm/v1\nkind: Observation\nnodes: []\n"
	for name, c := range map[string]struct{ text, want string }{
		"a node with two UIDs":         {list(nodeJSON) + strings.Replace(list(nodeJSON), "u-1", "u-2", 1), "dump:1: the Node one is in it twice"},
		"two dumps of verify":          {whole + "---\n" + whole, "dump:4: a dump of verify contains a whole cluster"},
		"a dump of verify and a node":  {whole + "---\n" + nodeJSON, "a dump of verify contains a whole cluster, and the file contains more; keep the dump in a separate file"},
		"a node and a dump of verify":  {nodeJSON + "\n---\n" + whole, "a dump of verify contains a whole cluster, and the file contains more; keep the dump in a separate file"},
		"a dump of another version":    {strings.Replace(whole, "v1", "v2", 1), "it is a dump of rke-lm/v2"},
		"a dump with more fields":      {whole + "later: true\n", "; read it with the rke-lm that wrote it"},
		"nothing of use":               {list(), "no object of a cluster"},
		"an answer that was cut":       {nodeJSON[:80], "; check that the output of kubectl is complete"},
		"a message in place of a list": {"Error from server (Forbidden)\n", "; use the output of kubectl get -o yaml"},
		"a value of another type":      {"{}\n\n" + strings.Replace(leaseJSON, "15", `"15"`, 1), "dump:3: cannot read this object"},
	} {
		assert.Error(dumped(t, c.text))(t, c.want, name)
	}
}

func TestADumpIsPrivateEvenWhereTheFileWasNot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dump.yaml")
	assert.NilError(t, os.WriteFile(file, []byte("another, and a longer one by far than what comes\n"), 0o644))
	assert.NilError(t, observe.WriteDump(file, &observed.Observation{APIVersion: observed.APIVersion, Kind: observed.Kind}))
	assert.Equal(t, assert.Value(os.Stat(file))(t).Mode().Perm(), 0o600)
	_, err := observe.ReadDump(file)
	assert.NilError(t, err)
}
