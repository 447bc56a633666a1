// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func parse(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	doc := assert.Value(yamledit.ParseString("in.yaml", text))(t)
	return doc
}

// rke2Cluster is a cluster with one pool of each role and the given lines of global configuration.
func rke2Cluster(t *testing.T, global string, more ...string) *yamledit.Document {
	return parse(t, `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata: {name: lab, namespace: fleet-default}
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    machineGlobalConfig:
      `+global+`
    machinePools:
      - {name: cp, controlPlaneRole: true, etcdRole: true}
      - {name: workers, workerRole: true}
`+strings.Join(more, "\n"))
}

func TestArgumentsAreThoseThatRKE2Gives(t *testing.T) {
	for _, c := range []struct {
		name, global string
		want         []string
		external     bool
	}{
		{"the provider's name comes first", "cloud-provider-name: aws", []string{"--cloud-provider=aws"}, false},
		{"bare names are completed", "cloud-provider-name: external\n      kube-controller-manager-arg: [enable-leader-migration]", []string{"--cloud-provider=external", "--enable-leader-migration=true"}, true},
		{"a string is one argument, and dashes are no matter", "cloud-provider-name: aws\n      kube-controller-manager-arg: --v=4", []string{"--cloud-provider=aws", "--v=4"}, false},
		{"a kubelet's own argument wins", "cloud-provider-name: aws\n      kubelet-arg: [cloud-provider=external]", []string{"--cloud-provider=aws"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := assert.Value(FromRKE2(rke2Cluster(t, c.global), "cp"))(t)
			if diff := cmp.Diff(c.want, w.KCM); diff != "" || w.External != c.external || w.CCM != nil {
				t.Errorf("external %v, chart %v, arguments (-want +got):\n%s", w.External, w.CCM, diff)
			}
		})
	}
}

func TestWhatTheLabCannotRunIsRefused(t *testing.T) {
	assert.Error(FromRKE2(rke2Cluster(t, "cni: calico"), "cp"))(t, "own cloud controller", "RKE2's own cloud controller:")
	assert.Error(FromRKE2(rke2Cluster(t, "cloud-provider-name: aws"), "workers"))(t, "workers", "a class without control planes:")
}

func TestTheManifestIsPartedIntoChartAndObjects(t *testing.T) {
	w := assert.Value(FromRKE2(rke2Cluster(t, "cloud-provider-name: aws", `    additionalManifest: |
      apiVersion: v1
      kind: Namespace
      metadata: {name: a}
      ---
      apiVersion: helm.cattle.io/v1
      kind: HelmChart
      metadata: {name: aws-cloud-controller-manager}
      spec:
        chart: aws-cloud-controller-manager
        valuesContent: |
          image: {tag: v1.26.6}
          args: [--cloud-provider=aws, --v=2]
`), "cp"))(t)
	if len(w.Manifests) != 1 || w.CCM == nil || w.CCM.Minor != "v1.26" || !cmp.Equal(w.CCM.Args, []string{"--cloud-provider=aws", "--v=2"}) {
		t.Errorf("%d objects, chart %+v", len(w.Manifests), w.CCM)
	}
}

const pod = `apiVersion: v1
kind: Pod
metadata: {name: kube-controller-manager, namespace: kube-system}
spec:
  containers:
    - name: kube-controller-manager
      command: [kube-controller-manager, --cloud-provider=aws, --kubeconfig=/etc/kubernetes/controller-manager.conf]
      args: [--leader-migration-config=/etc/lm/leadermigration.conf]
`

func TestPathsAreFollowedThroughTheMountsOfAPod(t *testing.T) {
	mounted := parse(t, pod+"      volumeMounts: [{name: lm, mountPath: /etc/lm}]\n  volumes: [{name: lm, hostPath: {path: /etc/kubernetes/lm}}]\n")
	daemon := parse(t, "kind: DaemonSet\nspec: {template: {spec: {containers: [{image: 'registry.example.com:5000/ccm:v1.26.6', args: [--v=2]}]}}}\n")
	w := assert.Value(FromManifests(mounted, daemon, "/host"))(t)
	assert.DeepEqual(t, w.KCM, []string{"--cloud-provider=aws", "--leader-migration-config=/host/etc/kubernetes/lm/leadermigration.conf"})
	if w.External || w.CCM.Minor != "v1.26" || !cmp.Equal(w.CCM.Args, []string{"--v=2"}) {
		t.Errorf("%+v", w.CCM)
	}
}

func TestAFileThatIsNotMountedIsAnError(t *testing.T) {
	assert.Error(FromManifests(parse(t, pod), nil, "/host"))(t, "/etc/lm/leadermigration.conf")
}
