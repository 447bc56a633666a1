// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// document is a cluster as people write it: an argument is a string.
const document = `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata: {name: harbour, namespace: fleet-default}
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    machineGlobalConfig:
      cloud-provider-name: aws
      cni: calico
      kube-apiserver-arg: profiling=false
      kube-controller-manager-arg: [configure-cloud-routes=false]
`

func TestRancherItself(t *testing.T) {
	l := started(t, "v1.26.15+rke2r1")
	l.within("answers at its front door", (*lab).frontDoor)
	l.within("admits what its webhook lets through", (*lab).webhook)
	l.within("is read and asked by rke-lm", (*lab).verbs)
}

// frontDoor requests what lab/rancher answers as well (proxy_test.go).
func (l *lab) frontDoor() {
	_, user, err := l.AddUser(l.Context(), "carol")
	if err != nil {
		l.Fatal(err)
	}
	const local, group = "/k8s/clusters/local/apis/", "management.cattle.io/v3"
	for _, c := range []struct {
		who, path, token string
		code             int
		body             string // that is in it; "-" for an empty one
	}{
		{"everybody", "/rancherversion", "", 200, `"Version":"v2.14.0"`},
		{"everybody", "/v3/settings/cacerts", "", 200, "BEGIN CERTIFICATE"},
		{"the administrator", local + "provisioning.cattle.io/v1/clusters", l.Token(), 200, "fleet-local"},
		{"the administrator", local + group + "/clusters", l.Token(), 200, "ClusterList"},
		{"the administrator", "/v1/provisioning.cattle.io.clusters", l.Token(), 200, `"type":"collection"`},
		{"the administrator", "/v3/clusters", l.Token(), 200, `"type":"collection"`},
		{"the administrator", "/k8s/clusters/c-none/version", l.Token(), 404, `clusters.management.cattle.io \"c-none\" not found`},
		// The gate on the group: no reason is given. Discovery and some kinds pass.
		{"a user", local + group + "/clusters", user, 403, "-"},
		{"a user", local + group + "/clusters/local", user, 403, "-"},
		{"a user", local + group + "/settings", user, 403, "-"},
		{"a user", local + group, user, 200, "APIResourceList"},
		{"a user", local + group + "/projects", user, 403, "cannot list resource"},
		{"a user", local + "provisioning.cattle.io/v1/clusters", user, 403, "cannot list resource"},
		{"a user", "/k8s/clusters/c-none/version", user, 403, "cannot get resource"},
		{"an unknown token", local + "provisioning.cattle.io/v1/clusters", "token-xxxxx:wrong", 401, "Unauthorized"},
		{"an unknown token", local + group + "/clusters", "token-xxxxx:wrong", 403, "-"},
		{"an unknown token", "/k8s/clusters/c-none/version", "token-xxxxx:wrong", 403, "system:unauthenticated"},
		{"an unknown token", "/v3/clusters", "token-xxxxx:wrong", 401, "must authenticate"},
	} {
		code, body := l.get(c.path, c.token)
		if code != c.code || c.body == "-" && body != "" || c.body != "-" && !strings.Contains(body, c.body) {
			l.Errorf("%s asks for %s: %d %q, want %d %q", c.who, c.path, code, body, c.code, c.body)
		}
	}
}

func (l *lab) parsed(text string) *unstructured.Unstructured {
	l.Helper()
	o := &unstructured.Unstructured{}
	assert.NilError(l, yaml.Unmarshal([]byte(text), &o.Object))
	return o
}

// webhook shows what Rancher's webhook makes of a cluster, what it leaves alone in a dry run, and what it refuses.
func (l *lab) webhook() {
	at := l.objects()
	made, err := at.Create(l.Context(), l.parsed(document), metav1.CreateOptions{})
	if err != nil {
		l.Fatal(err)
	}
	assert.Equal(l, config(made.Object, "kube-apiserver-arg"), `["profiling=false"]`, "a string becomes")
	if made.GetAnnotations()["field.cattle.io/creatorId"] == "" {
		l.Error("the cluster has no creator")
	}
	psa := []byte(`[{"op":"add","path":"/spec/defaultPodSecurityAdmissionConfigurationTemplateName","value":"rancher-restricted"},
		{"op":"replace","path":"/spec/rkeConfig/machineGlobalConfig/kube-apiserver-arg","value":["v=2","audit-log-maxage=30","profiling=false"]}]`)
	dry := assert.Value(at.Patch(l.Context(), "harbour", types.JSONPatchType, psa, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}))(l)
	assert.Equal(l, config(dry.Object, "kube-apiserver-arg"), `["v=2","audit-log-maxage=30","profiling=false"]`, "a dry run returns")
	// The webhook fails with an error of its own until it has seen the Secret that Rancher makes for the cluster.
	var written *unstructured.Unstructured
	err = retry.OnError(wait.Backoff{Duration: time.Second, Factor: 1, Steps: 20}, apierrors.IsInternalError, func() (err error) {
		written, err = at.Patch(l.Context(), "harbour", types.JSONPatchType, psa, metav1.PatchOptions{})
		return err
	})
	if err != nil {
		l.Fatal(err)
	}
	assert.Equal(l, config(written.Object, "kube-apiserver-arg"), `["admission-control-config-file=/etc/rancher/rke2/config/rancher-psact.yaml","v=2","audit-log-maxage=30","profiling=false"]`, "with a PSACT the arguments are")
	files, _, _ := unstructured.NestedSlice(written.Object, "spec", "rkeConfig", "machineSelectorFiles")
	assert.Equal(l, len(files), 1, "the machines get the files", files)
	_, err = at.Patch(l.Context(), "harbour", types.MergePatchType, []byte(`{"spec":{"rkeConfig":null}}`), metav1.PatchOptions{})
	assert.ErrorContains(l, err, "RKEConfig cannot be made null", "a cluster loses its configuration")
	if text, err := at.Get(l.Context(), "harbour", metav1.GetOptions{}); err != nil || config(text.Object, "cloud-provider-name") != `"aws"` {
		l.Errorf("the cluster is not as it was: %v", err)
	}
}

// verbs runs what only reads, and what the server checks without storing it.
func (l *lab) verbs() {
	code, out, printed := l.rke("status")
	if code != 0 || !strings.Contains(out, "fleet-default/harbour") || !strings.Contains(out, "in-tree") || !strings.Contains(out, "fleet-local/local") {
		l.Errorf("status: %d\n%s%s", code, out, printed)
	}
	if strings.Contains(printed, "not one of the known versions") {
		l.Error(printed)
	}
	code, out, printed = l.rke("plan", "--cluster", "fleet-default/harbour", "--end-state", "external", "--accept", "node-rename", "-o", "json")
	if code != 0 && code != 1 || !json.Valid([]byte(out)) || !strings.Contains(out, "switch-to-external") {
		l.Errorf("plan: %d\n%s%s", code, out, printed)
	}
	before := assert.Value(l.objects().Get(l.Context(), "harbour", metav1.GetOptions{}))(l)
	// A cluster that has no machines yet has not applied its last change.
	dry := []string{"apply", "--dry-run=server", "--next", "--cluster", "fleet-default/harbour", "--end-state", "external", "--accept", "node-rename"}
	if code, out, printed = l.rke(dry...); code != 4 || !strings.Contains(printed, "cluster-not-settled") {
		l.Errorf("apply --dry-run=server: %d\n%s%s", code, out, printed)
	}
	if code, out, printed = l.rke(append(dry, "--accept", "cluster-not-settled")...); code != 0 || !strings.Contains(out, "RoleBinding") {
		l.Errorf("apply --dry-run=server --accept cluster-not-settled: %d\n%s%s", code, out, printed)
	}
	after := assert.Value(l.objects().Get(l.Context(), "harbour", metav1.GetOptions{}))(l)
	assert.Equal(l, before.GetGeneration(), after.GetGeneration(), "a dry run changed the cluster")
}
