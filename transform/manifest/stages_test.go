// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestStagesOfEachManager(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		target         transform.Target
	}{
		{"a manager that is in-tree", static(onAWS), "enable-leader-migration todo, switch-to-external todo", transform.Target{}},
		{"one with the flag", static(onAWS, "--enable-leader-migration"), "enable-leader-migration done, switch-to-external todo", transform.Target{}},
		{"one with the flag and no configuration", static(onAWS, "--enable-leader-migration"), "enable-leader-migration todo, switch-to-external todo", generated},
		{"an external one", static("--cloud-provider=external"), "enable-leader-migration not-in-file, install-ccm not-in-file, switch-to-external done", transform.Target{}},
		{"an external one that kept the flag", static("--cloud-provider=external", "--enable-leader-migration"), "enable-leader-migration done, install-ccm not-in-file, switch-to-external todo", transform.Target{}},
		{"a ClusterConfiguration", configuration("  extraArgs: {cloud-provider: aws}\n"), "enable-leader-migration todo, switch-to-external todo", transform.Target{}},
		{"a cloud manager before the migration", cloud(onAWS), "install-ccm todo, disable-leader-migration todo", transform.Target{}},
		{"one that waits for the lease", cloud(onAWS, "--enable-leader-migration"), "install-ccm done, disable-leader-migration todo", transform.Target{}},
		{"one that is to keep the flag", cloud(onAWS, "--enable-leader-migration"), "install-ccm done, disable-leader-migration done", transform.Target{KeepLeaderMigration: true}},
		{"after the migration", marked(cloud(onAWS)), "install-ccm done, disable-leader-migration done", transform.Target{}},
		{"after the migration, whose image is to move", marked(cloud(onAWS)), "install-ccm done, disable-leader-migration todo", transform.Target{Version: "v1.27.1"}},
		{"one that has begun again", marked(cloud(onAWS, "--enable-leader-migration")), "install-ccm done, disable-leader-migration todo", transform.Target{}},
		{"a manager without leader migration", static(onAWS), "switch-to-external todo", transform.Target{NoLeaderMigration: true}},
		{"a cloud manager without leader migration", cloud(onAWS), "install-ccm done", transform.Target{NoLeaderMigration: true}},
	} {
		c.target.EndState = transform.EndStateExternal
		p := planned(t, c.in, c.target)
		assert.Equal(t, states(p), c.want, c.name)
		last := p.Steps[len(p.Steps)-1].Documents[0].After
		again := planned(t, string(last.Bytes()), c.target)
		assert.Truef(t, !again.Left(), "%s: planned again, something is left: %s", c.name, states(again))
	}
}

// marked adds the annotation of a finished migration.
func marked(text string) string {
	return strings.Replace(text, "metadata:\n", "metadata:\n  annotations: {rke-lm.io/leader-migration: finished}\n", 1)
}

// The list is not made of stages.Names: other formats can have stages that this one leaves out.
func TestAllStagesHaveTheirPlaceInEveryManifest(t *testing.T) {
	for _, in := range []string{static(onAWS), deployed("", onAWS), cloud(onAWS), configuration("  extraArgs: {cloud-provider: aws}\n")} {
		names := lists.Map(opened(t, in, transform.Target{}).Stages(), func(s transform.Listed) string {
			assert.True(t, s.Stage().Why != "", s.Name, "says nothing")
			return s.Name
		})
		assert.EqualSlices(t, names, []string{
			stages.GrantMigrationLease, stages.EnableLeaderMigration, stages.InstallCCM, stages.CordonControlPlane,
			stages.SwitchToExternal, stages.UncordonControlPlane, stages.DisableLeaderMigration, stages.VerifyProviderIDs,
		})
	}
}

func TestEditsOfTheStages(t *testing.T) {
	const mounted = "    volumeMounts:\n    - mountPath: /etc/leadermigration.conf\n      name: leader-migration-config\n      readOnly: true\n"
	const volume = "  volumes:\n  - hostPath:\n      path: /etc/leadermigration.conf\n      type: File\n    name: leader-migration-config\n"
	const deep = "        volumeMounts:\n        - mountPath: /etc/leadermigration.conf\n          name: leader-migration-config\n          readOnly: true\n          subPath: leadermigration.conf\n"
	const configMap = "      volumes:\n      - configMap:\n          name: %s-leader-migration\n        name: leader-migration-config\n"
	both := []string{"--enable-leader-migration", "--leader-migration-config=/etc/leadermigration.conf"}
	for _, c := range []struct {
		name, stage, in, want string
		target                transform.Target
	}{
		{"the flag", stages.EnableLeaderMigration, static(onAWS), static(onAWS, both[0]), transform.Target{}},
		{"the flag and a file of the host", stages.EnableLeaderMigration, static(onAWS), static(onAWS, both[0], both[1]) + mounted + volume, generated},
		{"a ConfigMap for a Deployment", stages.EnableLeaderMigration, deployed("", onAWS), deployed("", onAWS, both[0], both[1]) + deep + strings.Replace(configMap, "%s", kubeManager, 1), generated},
		{"the path that is there stays", stages.EnableLeaderMigration, static(onAWS, "--leader-migration-config=/etc/own.conf"), static(onAWS, "--leader-migration-config=/etc/own.conf", both[0]) + strings.ReplaceAll(mounted+volume, "leadermigration.conf", "own.conf"), generated},
		{"the switch takes all of it away", stages.SwitchToExternal, static(onAWS, both[0], both[1]) + mounted + volume, static("--cloud-provider=external"), transform.Target{}},
		{"the switch of a Deployment", stages.SwitchToExternal, deployed("", onAWS, both[0], both[1]) + deep + strings.Replace(configMap, "%s", kubeManager, 1), deployed("", "--cloud-provider=external"), transform.Target{}},
		{"the switch keeps other volumes", stages.SwitchToExternal, static(onAWS, both[0], both[1]) + mounted + "    - {mountPath: /x, name: x}\n" + volume + "  - {name: x, emptyDir: {}}\n",
			static("--cloud-provider=external") + "    volumeMounts:\n    - {mountPath: /x, name: x}\n  volumes:\n  - {name: x, emptyDir: {}}\n", transform.Target{}},
		{"the switch keeps a volume that another container uses", stages.SwitchToExternal, static(onAWS, both[0], both[1]) + mounted + "  - name: second\n    volumeMounts:\n    - {mountPath: /x, name: leader-migration-config}\n" + volume,
			static("--cloud-provider=external") + "  - name: second\n    volumeMounts:\n    - {mountPath: /x, name: leader-migration-config}\n" + volume, transform.Target{}},
		{"names come first where they do", stages.EnableLeaderMigration, static(onAWS) + "    volumeMounts:\n    - name: x\n      mountPath: /x\n  volumes:\n  - {name: x, emptyDir: {}}\n",
			static(onAWS, both[0], both[1]) + "    volumeMounts:\n    - name: x\n      mountPath: /x\n    - name: leader-migration-config\n      mountPath: /etc/leadermigration.conf\n      readOnly: true\n  volumes:\n  - {name: x, emptyDir: {}}\n  - name: leader-migration-config\n    hostPath:\n      path: /etc/leadermigration.conf\n      type: File\n", generated},
		{"a folder with more than the configuration stays", stages.SwitchToExternal, static(onAWS, both[0], both[1]) + "    volumeMounts:\n    - {mountPath: /etc, name: etc}\n  volumes:\n  - {name: etc, hostPath: {path: /etc}}\n",
			static("--cloud-provider=external") + "    volumeMounts:\n    - {mountPath: /etc, name: etc}\n  volumes:\n  - {name: etc, hostPath: {path: /etc}}\n", transform.Target{}},
		{"the release moves with the switch", stages.SwitchToExternal, static(onAWS), strings.Replace(static("--cloud-provider=external"), "v1.26.15", "v1.27.16", 1), transform.Target{Version: "v1.27.16+rke2r1"}},
		{"nodeipam leaves a manager without a list", stages.SwitchToExternal, static(onAWS), static("--cloud-provider=external", `"--controllers=*,-nodeipam"`), transform.Target{NodeIPAM: true}},
		{"nodeipam leaves a list", stages.SwitchToExternal, static(onAWS, "--controllers=*,nodeipam,tokencleaner"), static("--cloud-provider=external", "--controllers=*,tokencleaner,-nodeipam"), transform.Target{NodeIPAM: true}},
		{"extraArgs as a mapping", stages.EnableLeaderMigration, configuration("  extraArgs:\n    cloud-provider: aws\n"), configuration("  extraArgs:\n    cloud-provider: aws\n    enable-leader-migration: \"true\"\n"), transform.Target{}},
		{"extraArgs as a list", stages.SwitchToExternal, configuration("  extraArgs:\n  - name: cloud-provider\n    value: aws\n"), configuration("  extraArgs:\n  - name: cloud-provider\n    value: external\n"), transform.Target{}},
		{"extraVolumes", stages.EnableLeaderMigration, configuration("  extraArgs: {cloud-provider: aws}\n"),
			configuration("  extraArgs: {cloud-provider: aws, enable-leader-migration: \"true\", leader-migration-config: /etc/leadermigration.conf}\n  extraVolumes:\n    - name: leader-migration-config\n      hostPath: /etc/leadermigration.conf\n      mountPath: /etc/leadermigration.conf\n      readOnly: true\n      pathType: File\n"), generated},
		{"kube-apiserver in a ClusterConfiguration", stages.SwitchToExternal, configuration("  extraArgs: {cloud-provider: aws}\napiServer:\n  extraArgs: {cloud-provider: aws, v: '2'}\n"), configuration("  extraArgs: {cloud-provider: external}\napiServer:\n  extraArgs: {cloud-provider: external, v: '2'}\n"), transform.Target{}},
		{"kube-apiserver in a list of extraArgs", stages.SwitchToExternal, configuration("  extraArgs: {cloud-provider: aws}\napiServer:\n  extraArgs:\n  - name: cloud-provider\n    value: aws\n"), configuration("  extraArgs: {cloud-provider: external}\napiServer:\n  extraArgs:\n  - name: cloud-provider\n    value: external\n"), transform.Target{}},
		{"the version of a ClusterConfiguration", stages.SwitchToExternal, configuration("  extraArgs: {cloud-provider: aws}\n"), strings.Replace(configuration("  extraArgs: {cloud-provider: external}\n"), "v1.26.15", "v1.27.1", 1), transform.Target{Version: "v1.27.1"}},
		{"a cloud manager joins", stages.InstallCCM, cloud(onAWS), cloud(onAWS, both[0]), transform.Target{}},
		{"a cloud manager gets a ConfigMap", stages.InstallCCM, cloud(onAWS), cloud(onAWS, both[0], both[1]) + deep + strings.Replace(configMap, "%s", cloudManager, 1), generated},
		{"one of 1.28 has a file of its own", stages.InstallCCM, cloudOf("v1.28.1", onAWS), cloudOf("v1.28.1", onAWS, both[0], "--leader-migration-config=/etc/cloud-controller-manager-leadermigration.conf") +
			strings.ReplaceAll(deep, "/etc/", "/etc/cloud-controller-manager-") + strings.Replace(configMap, "%s", cloudManager, 1), generated},
		{"a cloud manager leaves", stages.DisableLeaderMigration, cloud(onAWS, both[0]), strings.Replace(cloud(onAWS), "  namespace: kube-system\n", "  namespace: kube-system\n  annotations:\n    rke-lm.io/leader-migration: finished\n", 1), transform.Target{}},
		{"its image moves with the target", stages.DisableLeaderMigration, marked(cloud(onAWS)), marked(cloudOf("v1.27.2", onAWS)), transform.Target{Version: "v1.27.16"}},
		{"its image moves to the chosen tag", stages.DisableLeaderMigration, marked(cloud(onAWS)), marked(cloudOf("v1.27.9", onAWS)), transform.Target{ImageTag: "v1.27.9"}},
	} {
		assert.Equal(t, after(t, planned(t, c.in, c.target), c.stage), c.want, c.name)
	}
}

func TestEditsThatCannotBeMadeAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		target         transform.Target
	}{
		{"another volume of the name", static(onAWS) + "  volumes:\n  - {name: leader-migration-config, emptyDir: {}}\n", "m.yaml:14: spec.volumes[0]: another volume has the name", generated},
		{"a mount without its volume", static(onAWS) + "    volumeMounts:\n    - {mountPath: /etc/leadermigration.conf, name: gone}\n", "it mounts a volume that does not exist", generated},
		{"a target two minors up", static(onAWS), "it is 2 minors after v1.26", transform.Target{Version: "v1.28.1"}},
		{"an older target", static(onAWS), "is older", transform.Target{Version: "v1.25.1"}},
		{"a target that is no release", static(onAWS), "--target-version latest: it is not a Kubernetes release", transform.Target{Version: "latest"}},
		{"a digest in the way", strings.Replace(static(onAWS), "v1.26.15", "v1.26.15@sha256:0f", 1), "the image has a digest", transform.Target{Version: "v1.27.1"}},
		{"a tag with more in it", strings.Replace(static(onAWS), "v1.26.15", "v1.26.15-custom", 1), "the image has a digest, or a tag with more than the release, so the release cannot be changed", transform.Target{Version: "v1.27.1"}},
		{"a cloud manager's tag two minors up", cloud(onAWS), "it is 2 minors after v1.26", transform.Target{ImageTag: "v1.28.1"}},
	} {
		assert.Error(plan.Build(Format(), transform.Only(parse(t, c.in)), c.target))(t, c.want, c.name)
	}
}

func TestFilesNextToTheManifest(t *testing.T) {
	for _, c := range []struct {
		name, in, stage, file, want string
		target                      transform.Target
	}{
		{"the right to the lease", static(onAWS), stages.GrantMigrationLease, rbacFile, "kind: RoleBinding", transform.Target{}},
		{"the right to another lease", static(onAWS), stages.GrantMigrationLease, rbacFile, "name: harbour-lease", transform.Target{LeaderMigrationConfig: transform.ConfigGenerate, LeaseName: "harbour-lease"}},
		{"the configuration of a static pod", static(onAWS), stages.EnableLeaderMigration, "leadermigration.conf", "leaderName: cloud-provider-extraction-migration\n", generated},
		{"a ConfigMap", deployed("", onAWS), stages.EnableLeaderMigration, "kube-controller-manager-leader-migration.yaml", "  leadermigration.conf: |\n    apiVersion: controllermanager.config.k8s.io/v1\n", generated},
		{"nodeipam is in the list", cloud(onAWS), stages.InstallCCM, "cloud-controller-manager-leader-migration.yaml", "- name: nodeipam\n", transform.Target{LeaderMigrationConfig: transform.ConfigGenerate, NodeIPAM: true}},
	} {
		s, _ := planned(t, c.in, c.target).Step(c.stage)
		files, err := s.Files()
		assert.Truef(t, err == nil && len(files) == 1 && files[0].Name == c.file && strings.Contains(files[0].Content, c.want), "%s: %+v, %v", c.name, files, err)
		parse(t, strings.Split(files[0].Content, "---\n")[0])
	}
	for name, in := range map[string]string{"a ClusterConfiguration": configuration("  extraArgs: {cloud-provider: aws}\n"), "a cloud manager without a configuration": cloud(onAWS)} {
		for _, s := range planned(t, in, transform.Target{}).Steps {
			files, err := s.Files()
			assert.Truef(t, err == nil && len(files) == 0, "%s, %s: %v, %v", name, s.Stage.Name, files, err)
		}
	}
}

func TestActionsOfTheStages(t *testing.T) {
	commands := func(in string, target transform.Target, stage string) string {
		s, _ := planned(t, in, target).Step(stage)
		return commandsOf(slices.Concat(s.Stage.Before, s.Stage.After))
	}
	for _, c := range []struct {
		name, got string
		in, out   []string // what is in the commands, in this order, and what does not
	}{
		{"the published patch", commands(static(onAWS), transform.Target{RBAC: transform.RBACPatch}, stages.GrantMigrationLease), []string{"system::leader-locking-kube-controller-manager", "system::leader-locking-cloud-controller-manager"}, []string{"apply"}},
		{"kubelets come last", commands(static(onAWS), transform.Target{}, stages.SwitchToExternal), []string{"get leases", "kubeadm-config", "kube-apiserver.yaml", "restart kubelet"}, nil},
		{"no flag for kube-apiserver from 1.33 on", commands(strings.Replace(static("--cloud-provider=external"), "v1.26", "v1.33", 1), transform.Target{}, stages.SwitchToExternal), []string{"restart kubelet"}, []string{"kube-apiserver"}},
		{"the configuration comes first", commands(static(onAWS), generated, stages.EnableLeaderMigration), []string{"install -m 0644 leadermigration.conf /etc/leadermigration.conf", "get pods"}, nil},
		{"a Deployment rolls out", commands(deployed("", onAWS), transform.Target{}, stages.EnableLeaderMigration), []string{"rollout status deployment/kube-controller-manager"}, []string{"kubeadm"}},
		{"the file goes with the last stage", commands(cloud(onAWS), generated, stages.DisableLeaderMigration), []string{"delete configmap cloud-controller-manager-leader-migration"}, nil},
		{"the file of a node stays for the cloud manager", commands(static(onAWS), generated, stages.SwitchToExternal), nil, []string{"\nrm "}},
		{"a static pod's file goes with the last stage", commands(object("v1", "Pod", "ccm")+"spec:\n"+podSpec("  ", "x:v1.26.6", "cloud-controller-manager", []string{onAWS}), generated, stages.DisableLeaderMigration), []string{"rm /etc/leadermigration.conf"}, nil},
		{"a Deployment's ConfigMap goes with the switch", commands(deployed("", onAWS), generated, stages.SwitchToExternal), []string{"delete configmap kube-controller-manager-leader-migration"}, nil},
		{"a ClusterConfiguration is stored", commands(configuration("  extraArgs: {cloud-provider: aws}\n"), generated, stages.SwitchToExternal), []string{"upload-config"}, []string{"kubelet", "apiserver"}},
		{"control planes are cordoned", commands(static(onAWS), transform.Target{}, stages.CordonControlPlane), []string{"kubectl cordon"}, nil},
		{"not for a Deployment", commands(deployed("", onAWS), transform.Target{}, stages.CordonControlPlane), nil, []string{"cordon"}},
		{"unless it is asked for", commands(deployed("", onAWS), transform.Target{Cordon: transform.CordonAlways}, stages.CordonControlPlane), []string{"kubectl cordon"}, nil},
		{"not with an upgrade", commands(static(onAWS), transform.Target{Version: "v1.27.1"}, stages.CordonControlPlane), nil, []string{"cordon"}},
		{"not twice", commands(cloud(onAWS), transform.Target{Cordon: transform.CordonAlways}, stages.CordonControlPlane), nil, []string{"cordon"}},
	} {
		rest := c.got
		for _, part := range c.in {
			_, after, found := strings.Cut(rest, part)
			assert.Mustf(t, found, "%s: %q is not there, or not in its place:\n%s", c.name, part, c.got)
			rest = after
		}
		for _, part := range c.out {
			assert.Truef(t, !strings.Contains(c.got, part), "%s: %q is there:\n%s", c.name, part, c.got)
		}
	}
}
