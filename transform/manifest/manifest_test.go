// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

// pod returns a Pod whose container has these fields.
func pod(fields string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - " + strings.ReplaceAll(fields, "\n", "\n    ") + "\n"
}

func TestManifestsAreFoundAmongOthers(t *testing.T) {
	for _, c := range []struct{ name, in, component string }{
		{"by the program", pod("command: [kube-controller-manager]"), kubeManager},
		{"by the path of the program", pod("command: [/usr/local/bin/kube-controller-manager, --v=2]"), kubeManager},
		{"by the program in args", pod("image: x\nargs: [kube-controller-manager, --v=2]"), kubeManager},
		{"hyperkube with the old name", pod("command: [/hyperkube, controller-manager]"), kubeManager},
		{"hyperkube with the full name", pod("command: [/hyperkube, kube-controller-manager]"), kubeManager},
		{"after a wrapper with flags", pod("command: [/go-runner, --log-file=/var/log/m, kube-controller-manager]"), kubeManager},
		{"by the image where there is no command", pod("image: registry.k8s.io/kube-controller-manager:v1.26.15\nargs: [--v=2]"), kubeManager},
		{"by the image for one processor", pod("image: registry.k8s.io/kube-controller-manager-arm64:v1.26.15"), kubeManager},
		{"by the image of AWS", pod("image: registry.example.com:5000/aws-cloud-controller-manager:v1.26.6@sha256:0"), cloudManager},
		{"by the program of AWS", pod("command: [/bin/aws-cloud-controller-manager]"), cloudManager},
		{"the general one", pod("command: [/cloud-controller-manager]"), cloudManager},
		{"in a shell, to be refused with advice", pod("command: [/bin/sh, -c, 'exec kube-controller-manager --v=2 2>&1']"), kubeManager},
		{"a Deployment", deployed("", onAWS), kubeManager},
		{"a DaemonSet", cloud(onAWS), cloudManager},
		{"a ClusterConfiguration", configuration("  extraArgs: {cloud-provider: aws}\n"), kubeManager},
		{"a Pod that only names it", pod("command: [kubectl, logs, kube-controller-manager]"), ""},
		{"a Pod with its image but another program", pod("image: registry.k8s.io/kube-controller-manager:v1.26.15\ncommand: [sleep, '9']"), ""},
		{"a script that does not run it", pod("command: [sh, -c, 'echo kube-controller-managers']"), ""},
		{"another cloud's manager", pod("image: example.com/acme-cloud-controller-manager:v1.0.0"), ""},
		{"a Job", strings.Replace(pod("command: [kube-controller-manager]"), "kind: Pod", "kind: Job", 1), ""},
		{"a Deployment of another group", strings.Replace(deployed("", onAWS), "apps/v1", "example.com/v1", 1), ""},
		{"a ClusterConfiguration of another group", strings.Replace(configuration("  {}\n"), "kubeadm.k8s.io", "example.com", 1), ""},
		{"a Service", "apiVersion: v1\nkind: Service\nmetadata: {name: kube-controller-manager}\n", ""},
		{"a pod without containers", "apiVersion: v1\nkind: Pod\nspec: {}\n", ""},
	} {
		doc := parse(t, c.in)
		assert.Must(t, Format().Owns(doc) == (c.component != ""), c.name, "is taken for one, or not")
		assert.True(t, c.component == "" || Format().Words.In(doc.Bytes()), c.name, "the quick look passes it over")
		kind := kindOf(doc)
		assert.True(t, c.component == "" || kind == kindConfiguration || programs(podOf(doc.Root(), kind))[0].component == c.component, c.name, "is not taken for", c.component)
	}
}

func TestAQuickReadSkipsTextsThatOnlyNameAManager(t *testing.T) {
	for _, text := range []string{
		"kind: PrometheusRule\nname: kube-controller-manager\n",
		"kubeControllerManager: {}\n# kind: Pod\n",
		"kind: DaemonSet\n# watches the kube-controller-manager\n",
		"machineGlobalConfig:\n  kube-controller-manager-arg: []\n",
	} {
		assert.Truef(t, !Format().Meant([]byte(text)), "worth parsing: %q", text)
	}
}

func TestManifestsThatAreNotMigratedAreRefused(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"no provider", static("--v=2"), "m.yaml:10: spec.containers[0].command: no --cloud-provider among the arguments of kube-controller-manager"},
		{"another provider", static("--cloud-provider=gce"), "m.yaml:12: spec.containers[0].command[1]: the cloud provider is not aws"},
		{"the last provider counts", static(onAWS, "--cloud-provider=gce"), "m.yaml:13: "},
		{"a provider from the environment", static("--cloud-provider=$(PROVIDER)"), "the provider comes from an environment variable; write the value"},
		{"a cloud manager of another cloud", cloud("--cloud-provider=gce"), "the cloud provider is not aws"},
		{"no provider in a ClusterConfiguration", configuration("  {}\n"), "m.yaml:5: controllerManager: no --cloud-provider"},
		{"a shell", strings.Replace(static(), "- kube-controller-manager\n", "- /bin/sh\n    - -c\n    - kube-controller-manager --v=2\n", 1), "m.yaml:10: spec.containers[0].command: a shell runs the manager"},
		{"two managers", static(onAWS) + "  - name: second\n    command: [cloud-controller-manager]\n", "a second controller manager in one manifest"},
		{"a type that the API refuses", static(onAWS) + "  hostNetwork: 'yes'\n", "m.yaml:13: spec.hostNetwork: this must be true or false, and Kubernetes refuses the whole manifest"},
		{"a static pod of RKE2", strings.Replace(static(onAWS), "registry.k8s.io/kube-controller-manager:v1.26.15", "docker.io/rancher/hardened-kubernetes:v1.26.15-rke2r1-build20240314", 1), "m.yaml:9: spec.containers[0].image: RKE2 generates this static pod"},
		{"a type that kubeadm refuses", configuration("  extraArgs: {cloud-provider: aws}\n  extraVolumes: [{name: x, readOnly: 'yes'}]\n"), "m.yaml:7: controllerManager.extraVolumes[0].readOnly: this must be true or false"},
		{"an old release", strings.Replace(static(onAWS), "v1.26.15", "v1.21.14", 1), "leader migration requires Kubernetes 1.22 or later"},
		{"no tag", strings.Replace(static(onAWS), ":v1.26.15", "", 1), "m.yaml:9: spec.containers[0].image: the tag is not a release"},
		{"a digest alone", strings.Replace(static(onAWS), ":v1.26.15", "@sha256:0f", 1), "the tag is not a release"},
		{"another document", "kind: Service\n", "no manifest of a controller manager"},
	} {
		assert.Error(Format().Open(transform.Only(parse(t, c.in)), transform.Target{}))(t, c.want, c.name)
	}
}

func TestManifestsAreIdentified(t *testing.T) {
	for _, c := range []struct{ name, in, assumed, want string }{
		{"a tag", static(onAWS), "", "kube-system/kube-controller-manager v1.26.15"},
		{"a tag with more in it", strings.Replace(static(onAWS), "v1.26.15", "v1.26.15-rke2r1-build1", 1), "", "kube-system/kube-controller-manager v1.26.15"},
		{"a tag and a digest", strings.Replace(static(onAWS), "v1.26.15", "v1.26.15@sha256:0f", 1), "", "kube-system/kube-controller-manager v1.26.15"},
		{"a digest and an assumed release", strings.Replace(static(onAWS), ":v1.26.15", "@sha256:0f", 1), "v1.25.16+rke2r1", "kube-system/kube-controller-manager v1.25.16"},
		{"what is stated wins", static(onAWS), "v1.24.0", "kube-system/kube-controller-manager v1.26.15"},
		{"a ClusterConfiguration", configuration("  extraArgs: {cloud-provider: aws}\n"), "", "harbour v1.26.15"},
	} {
		id := opened(t, c.in, transform.Target{AssumeVersion: c.assumed}).Identity()
		assert.Equal(t, id.Format+" "+id.Title()+" "+id.Version, Name+" "+c.want, c.name)
		assert.True(t, Format().Identify(parse(t, c.in)).Is(id), c.name, "Identify says otherwise")
	}
	untagged := transform.Only(parse(t, strings.Replace(static(onAWS), ":v1.26.15", "", 1)))
	assert.Error(Format().Open(untagged, transform.Target{AssumeVersion: "latest"}))(t, "m.yaml:1: the assumed version is not a release of Kubernetes")
}

func TestExplainShowsTheArgumentThatCounts(t *testing.T) {
	classes, err := Format().Explain(transform.Only(parse(t, static("--v=2", "--cloud-provider=gce", onAWS))), transform.Target{})
	assert.Mustf(t, err == nil && len(classes) == 1 && classes[0].Name == kubeManager, "%v, %v", classes, err)
	s := classes[0].Settings
	assert.True(t, len(s) == 2 && s[0].Key == providerFlag && s[0].Value == inTree && s[0].Origin.Line() == 14 && len(s[0].Overridden) == 1 && s[0].Overridden[0].Line() == 13, s)
}
