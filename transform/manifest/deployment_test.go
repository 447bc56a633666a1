// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
)

// files are arguments and volumes as kubeadm writes them, and those of a migration.
var (
	fileFlags = []string{onAWS, "--kubeconfig=/etc/kubernetes/manager.conf", "--client-ca-file=/etc/kubernetes/pki/ca.crt", "--root-ca-file=/etc/kubernetes/pki/ca.crt", "--tls-cert-file=/etc/kubernetes/pki/front/tls.crt", "--leader-migration-config=/etc/leadermigration.conf"}
	hostFiles = "    volumeMounts:\n    - {mountPath: /etc/kubernetes/pki, name: pki}\n    - {mountPath: /etc/kubernetes/manager.conf, name: kubeconfig}\n    - {mountPath: /etc/leadermigration.conf, name: migration}\n    - {mountPath: /etc/ssl/certs, name: certs}\n" +
		"  volumes:\n  - {name: pki, hostPath: {path: /opt/pki}}\n  - {name: kubeconfig, hostPath: {path: /etc/kubernetes/manager.conf}}\n  - {name: migration, hostPath: {path: /etc/leadermigration.conf}}\n  - {name: certs, hostPath: {path: /etc/ssl/certs}}\n"
)

// deploymentOf returns the Deployment of a static pod, and its text.
func deploymentOf(t *testing.T, pod string, s Scaling) (appsv1.Deployment, string) {
	t.Helper()
	text := assert.Value(Deployment(parse(t, pod), s))(t)
	d, at, what := k8s.Decode[appsv1.Deployment](parse(t, text).Root())
	assert.Mustf(t, what == "", "%s: %s", at.Path(), what)
	_, strict := k8s.DecodeStrict[appsv1.Deployment](parse(t, text).Root(), "a Deployment")
	assert.NilError(t, k8s.Strictness{}.Allows(strict))
	return d, text
}

func TestDeploymentOfAStaticPod(t *testing.T) {
	d, text := deploymentOf(t, static(fileFlags...)+hostFiles+"  hostNetwork: true\n  priority: 2000001000\n  nodeName: a\n", Scaling{3, FromSecret})
	pod := d.Spec.Template.Spec
	assert.True(t, *d.Spec.Replicas == 3 && d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() == 1 && d.Spec.Strategy.RollingUpdate.MaxSurge.IntValue() == 0, d.Spec)
	for label, v := range d.Spec.Selector.MatchLabels {
		assert.Equal(t, d.Spec.Template.Labels[label], v, "the selector does not select", label)
	}
	assert.True(t, pod.Priority == nil && pod.NodeName == "" && pod.PriorityClassName == "system-cluster-critical" && pod.HostNetwork && len(pod.NodeSelector) == 0, pod)
	tol := pod.Tolerations
	assert.True(t, len(tol) == 1 && tol[0].Operator == "Exists" && tol[0].Effect == "NoSchedule", tol)
	c := pod.Containers[0]
	assert.True(t, c.Command[len(c.Command)-1] == "--secure-port=10357" && c.LivenessProbe.HTTPGet.Port.IntValue() == 10357 && c.StartupProbe.HTTPGet.Port.IntValue() == 10357, c)
	assert.ContainsAll(t, text, []string{"# One of the 3 replicas is active at a time", "Only a running kube-controller-manager creates these pods, so the Deployment cannot recover by", "# It needs 3 nodes", "mv /etc/kubernetes/manifests/kube-controller-manager.yaml /etc/kubernetes/"})
}

func TestDeploymentTakesItsFilesFromSecrets(t *testing.T) {
	d, text := deploymentOf(t, static(fileFlags...)+hostFiles, Scaling{2, FromSecret})
	for i, want := range []string{"secret", "secret", "configMap", "hostPath"} {
		v := d.Spec.Template.Spec.Volumes[i]
		got := map[string]bool{"secret": v.Secret != nil, "configMap": v.ConfigMap != nil, "hostPath": v.HostPath != nil}
		assert.Truef(t, got[want], "%s is no %s: %+v", v.Name, want, v)
	}
	items := d.Spec.Template.Spec.Volumes[0].Secret.Items
	assert.True(t, len(items) == 2 && items[1].Key == "front-tls.crt" && items[1].Path == "front/tls.crt", items)
	m := d.Spec.Template.Spec.Containers[0].VolumeMounts
	assert.True(t, m[0].SubPath == "" && m[1].SubPath == "manager.conf" && m[2].SubPath == "leadermigration.conf" && m[1].ReadOnly, m)
	assert.ContainsAll(t, text, []string{
		"create secret generic kube-controller-manager-pki --from-file=ca.crt=/opt/pki/ca.crt --from-file=front-tls.crt=/opt/pki/front/tls.crt\n",
		"create secret generic kube-controller-manager-kubeconfig --from-file=manager.conf=/etc/kubernetes/manager.conf\n",
		"create configmap kube-controller-manager-migration --from-file=leadermigration.conf=/etc/leadermigration.conf\n",
	})
}

func TestDeploymentTakesItsFilesFromItsHost(t *testing.T) {
	d, text := deploymentOf(t, static(fileFlags...)+hostFiles, Scaling{2, FromHostPath})
	for _, v := range d.Spec.Template.Spec.Volumes {
		assert.True(t, v.HostPath != nil, v)
	}
	_, selected := d.Spec.Template.Spec.NodeSelector[controlPlaneLabel]
	assert.True(t, selected && !strings.Contains(text, "create secret"), text)
}

func TestDeploymentKeepsTheProbesThatAreThere(t *testing.T) {
	d, _ := deploymentOf(t, static(onAWS)+"    livenessProbe: {failureThreshold: 3, httpGet: {path: /livez, port: 10257}}\n    readinessProbe: {tcpSocket: {port: 10252}}\n", Scaling{2, FromSecret})
	c := d.Spec.Template.Spec.Containers[0]
	p := c.LivenessProbe
	assert.True(t, p.HTTPGet.Path == "/livez" && p.HTTPGet.Port.IntValue() == 10357 && p.FailureThreshold == 3, p)
	assert.Equal(t, c.ReadinessProbe.TCPSocket.Port.IntValue(), 10252)
}

func TestDeploymentKeepsAPortOfItsOwn(t *testing.T) {
	d, _ := deploymentOf(t, static(onAWS, "--secure-port=11257"), Scaling{2, FromSecret})
	c := d.Spec.Template.Spec.Containers[0]
	assert.True(t, strings.Join(c.Command, " ") == "kube-controller-manager --cloud-provider=aws --secure-port=11257" && c.LivenessProbe.HTTPGet.Port.IntValue() == 11257, c)
}

func TestDeploymentIsFreeOfDeadlock(t *testing.T) {
	for _, s := range []Scaling{{2, FromSecret}, {5, FromHostPath}} {
		_, text := deploymentOf(t, static(fileFlags...)+hostFiles, s)
		for _, rule := range []string{"deployment-deadlock", "certificates-in-image", "config-not-mounted", "host-pinned"} {
			assert.Equal(t, found(t, "d.yaml", text, rule, transform.Target{}), "", s, rule)
		}
	}
}

func TestDeploymentIsMadeFromAStaticPodAlone(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"a Deployment":     {deployed("", onAWS), "no static pod of kube-controller-manager"},
		"a cloud manager":  {strings.NewReplacer("kube-controller-manager", "cloud-controller-manager").Replace(static(onAWS)), "no static pod of kube-controller-manager"},
		"an unknown field": {static(onAWS) + "  hostnetwork: true\n", `its schema does not allow: unknown field "spec.hostnetwork"`},
	} {
		assert.Error(Deployment(parse(t, c.in), Scaling{2, FromSecret}))(t, c.want, name)
	}
}
