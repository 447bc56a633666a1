// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// found returns where a rule speaks about a file, as line and severity.
func found(t *testing.T, file, text, rule string, target transform.Target) string {
	t.Helper()
	doc := assert.Value(yamledit.ParseString(file, text))(t)
	c := assert.Value(Format().Lint(transform.Only(doc), target))(t)
	list := lists.Where(c.Findings(""), func(f transform.Finding) bool { return f.Rule == rule })
	return strings.Join(lists.Map(list, func(f transform.Finding) string { return fmt.Sprintf("%d %s", f.Line, f.Severity) }), ", ")
}

func TestRulesOfArguments(t *testing.T) {
	const flag, config = "--enable-leader-migration", "--leader-migration-config=/etc/leadermigration.conf"
	const mount = "    volumeMounts:\n    - {mountPath: %s, name: c}\n  volumes:\n  - {name: c, hostPath: {path: /x}}\n"
	v127 := transform.Target{Version: "v1.27.16"}
	for _, c := range []struct {
		name, rule, in, want string
		target               transform.Target
	}{
		{"a configuration without the flag", "config-without-flag", static(onAWS, config), "13 error", transform.Target{}},
		{"with the flag off", "config-without-flag", static(onAWS, config, flag+"=false"), "13 error", transform.Target{}},
		{"with the flag", "config-without-flag", static(onAWS, config, flag), "", transform.Target{}},
		{"a configuration that nothing mounts", "config-not-mounted", static(onAWS, config, flag), "13 error", transform.Target{}},
		{"one that is mounted", "config-not-mounted", static(onAWS, config) + fmt.Sprintf(mount, "/etc/leadermigration.conf"), "", transform.Target{}},
		{"one in a folder that is mounted", "config-not-mounted", static(onAWS, config) + fmt.Sprintf(mount, "/etc/"), "", transform.Target{}},
		{"a folder that is named alike", "config-not-mounted", static(onAWS, config) + fmt.Sprintf(mount, "/et"), "13 error", transform.Target{}},
		{"a mount of a volume that is not there", "config-not-mounted", static(onAWS, config) + "    volumeMounts:\n    - {mountPath: /etc, name: gone}\n", "13 error", transform.Target{}},
		{"extraVolumes", "config-not-mounted", configuration("  extraArgs: {leader-migration-config: /etc/x}\n  extraVolumes: [{name: x, hostPath: /etc/x, mountPath: /etc/x}]\n"), "", transform.Target{}},
		{"no extraVolumes", "config-not-mounted", configuration("  extraArgs: {leader-migration-config: /etc/x}\n"), "6 error", transform.Target{}},
		{"a folder that kubeadm mounts", "config-not-mounted", configuration("  extraArgs: {leader-migration-config: /etc/kubernetes/pki/x}\n"), "", transform.Target{}},
		{"an external manager with the flag", "flag-left-on-kcm", static("--cloud-provider=external", flag), "13 error", transform.Target{}},
		{"an in-tree manager with the flag", "flag-left-on-kcm", static(onAWS, flag), "", transform.Target{}},
		{"a cloud manager with the flag", "flag-left-on-kcm", cloud("--cloud-provider=external", flag), "", transform.Target{}},
		{"the flag without a provider", "provider-removed", static(flag), "10 error", transform.Target{}},
		{"the flag with a provider", "provider-removed", static(onAWS, flag), "", transform.Target{}},
		{"no provider and no flag", "provider-removed", static("--v=2"), "", transform.Target{}},
		{"an in-tree manager", "node-rename", static(onAWS), "12 warning", transform.Target{}},
		{"an in-tree ClusterConfiguration", "node-rename", configuration("  extraArgs: {cloud-provider: aws}\n"), "6 warning", transform.Target{}},
		{"an external manager", "node-rename", static("--cloud-provider=external"), "", transform.Target{}},
		{"a cloud manager names no nodes", "node-rename", cloud(onAWS), "", transform.Target{}},
		{"a chosen end state", "node-rename", static(onAWS), "", transform.Target{EndState: transform.EndStateExternal}},
		{"another provider", transform.RuleNotMigratable, static("--cloud-provider=gce"), "12 error", transform.Target{}},
		{"no provider", transform.RuleNotMigratable, static("--v=2"), "10 error", transform.Target{}},
		{"a provider to migrate", transform.RuleNotMigratable, static(onAWS), "", transform.Target{}},
		{"the CSI gate off at 1.24", "csi-gate-stale", strings.Replace(static(onAWS, "--feature-gates=CSIMigrationAWS=false"), "v1.26.15", "v1.24.17", 1), "13 note", transform.Target{}},
		{"aws at 1.27", "in-tree-gone", strings.Replace(static(onAWS), "v1.26.15", "v1.27.1", 1), "12 error", transform.Target{}},
		{"aws in an upgrade to 1.27", "in-tree-gone", static(onAWS), "12 error", v127},
		{"aws at 1.26", "in-tree-gone", static(onAWS), "", transform.Target{}},
		{"the cloud manager of AWS", "in-tree-gone", cloudOf("v1.27.1", onAWS), "", transform.Target{}},
		{"the CSI gate off at 1.26", "csi-gate-stale", static(onAWS, "--feature-gates=A=true,CSIMigrationAWS=false"), "13 error", transform.Target{}},
		{"the CSI gate in an upgrade to 1.27", "csi-gate-stale", static(onAWS, "--feature-gates=CSIMigrationAWS=true"), "13 error", v127},
		{"the gate of leader migration off", "flag-on-external-gate", static(onAWS, "--feature-gates=ControllerManagerLeaderMigration=false"), "13 error", transform.Target{}},
		{"no leader election", "leader-election-off", static(onAWS, "--leader-elect=false"), "13 error", transform.Target{}},
		{"no leader election of the cloud manager", "leader-election-off", cloud(onAWS, "--leader-elect=false"), "20 error", transform.Target{}},
		{"no leader election without leader migration", "leader-election-off", static(onAWS, "--leader-elect=false"), "", transform.Target{NoLeaderMigration: true}},
		{"a lease that is too short", "leader-election-off", static(onAWS, "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=1s"), "15 error", transform.Target{}},
		{"routes without a range", "ccm-args-unsafe", cloud(onAWS, "--configure-cloud-routes=true"), "16 error", transform.Target{}},
		{"routes by default", "ccm-args-unsafe", strings.Replace(cloud(onAWS), noRoutes, "--v=2", 1), "16 error", transform.Target{}},
		{"routes with a range", "ccm-args-unsafe", cloud(onAWS, "--configure-cloud-routes", "--cluster-cidr=10.0.0.0/16"), "", transform.Target{}},
		{"the manager of Kubernetes", "ccm-args-unsafe", static(onAWS), "", transform.Target{}},
		{"an image of 1.28 that migrates", "ccm-minor-skew", cloudOf("v1.28.1", onAWS, flag), "15 error", transform.Target{}},
		{"one that does not", "ccm-minor-skew", cloudOf("v1.28.1", onAWS), "", transform.Target{}},
		{"one with a configuration", "ccm-minor-skew", cloudOf("v1.28.1", onAWS, flag, config), "", transform.Target{}},
		{"one of 1.27", "ccm-minor-skew", cloudOf("v1.27.2", onAWS, flag), "", transform.Target{}},
		{"nodeipam taken from a manager that allocates", "nodeipam-without-ccm-support", static(onAWS, "'--controllers=*,-nodeipam'", "--allocate-node-cidrs=true"), "13 error", transform.Target{}},
		{"from one that does not", "nodeipam-without-ccm-support", static(onAWS, "'--controllers=*,-nodeipam'"), "", transform.Target{}},
		{"nodeipam left", "nodeipam-without-ccm-support", static(onAWS, "'--controllers=*,nodeipam'", "--allocate-node-cidrs=true"), "", transform.Target{}},
		{"nodeipam for the cloud manager of AWS", "nodeipam-without-ccm-support", cloud(onAWS), "16 error", transform.Target{NodeIPAM: true}},
		{"nodeipam for another cloud's", "nodeipam-without-ccm-support", cloud("--cloud-provider=gce"), "", transform.Target{NodeIPAM: true}},
	} {
		assert.Equal(t, found(t, "m.yaml", c.in, c.rule, c.target), c.want, c.rule, c.name)
	}
}

func TestRulesOfWorkloads(t *testing.T) {
	rolling := func(replicas, unavailable string) string {
		return "  replicas: " + replicas + "\n  strategy: {rollingUpdate: {maxUnavailable: " + unavailable + "}}\n"
	}
	const file = "--kubeconfig=/etc/kubernetes/manager.conf"
	const volumes = "        volumeMounts:\n        - {mountPath: /etc/kubernetes, name: k}\n      volumes:\n      - {name: k, %s}\n"
	for _, c := range []struct{ name, rule, in, want string }{
		{"one replica by default", "deployment-deadlock", deployed("", onAWS), "6 error"},
		{"one replica", "deployment-deadlock", deployed("  replicas: 1\n", onAWS), "7 error"},
		{"two replicas", "deployment-deadlock", deployed("  replicas: 2\n", onAWS), ""},
		{"Recreate", "deployment-deadlock", deployed("  replicas: 3\n  strategy: {type: Recreate}\n", onAWS), "8 error"},
		{"all may stop", "deployment-deadlock", deployed(rolling("2", "2"), onAWS), "8 error"},
		{"all may stop, in percent", "deployment-deadlock", deployed(rolling("3", "100%"), onAWS), "8 error"},
		{"one of two may stop", "deployment-deadlock", deployed(rolling("2", "1"), onAWS), ""},
		{"99 percent of two is one", "deployment-deadlock", deployed(rolling("2", "99%"), onAWS), ""},
		{"a static pod", "deployment-deadlock", static(onAWS), ""},
		{"a cloud manager", "deployment-deadlock", strings.Replace(cloud(onAWS), "DaemonSet", "Deployment", 1), ""},
		{"a Deployment", "circular-dependency", deployed("", onAWS), "2 warning"},
		{"a DaemonSet", "circular-dependency", strings.Replace(deployed("", onAWS), "Deployment", "DaemonSet", 1), ""},
		{"several replicas", "one-active-replica", deployed("  replicas: 2\n", onAWS), "7 note"},
		{"one replica", "one-active-replica", deployed("  replicas: 1\n", onAWS), ""},
		{"a host by its label", "host-pinned", deployed("", onAWS) + "      nodeSelector: {kubernetes.io/hostname: a}\n", "19 warning"},
		{"a host by its name", "host-pinned", deployed("", onAWS) + "      nodeName: a\n", "19 warning"},
		{"a role", "host-pinned", deployed("", onAWS) + "      nodeSelector: {node-role.kubernetes.io/control-plane: \"\"}\n", ""},
		{"a path of the host", "host-path-in-deployment", deployed("", onAWS) + fmt.Sprintf(volumes, "hostPath: {path: /x}"), "22 warning"},
		{"a Secret", "host-path-in-deployment", deployed("", onAWS) + fmt.Sprintf(volumes, "secret: {secretName: x}"), ""},
		{"a path of the host in a static pod", "host-path-in-deployment", static(onAWS) + "  volumes: [{name: x, hostPath: {path: /x}}]\n", ""},
		{"a file that nothing brings", "certificates-in-image", deployed("", onAWS, file), "15 warning"},
		{"a file that a volume brings", "certificates-in-image", deployed("", onAWS, file) + fmt.Sprintf(volumes, "secret: {secretName: x}"), ""},
		{"no file", "certificates-in-image", deployed("", onAWS), ""},
		{"a file of a static pod", "certificates-in-image", static(onAWS, file), ""},
	} {
		assert.Equal(t, found(t, "m.yaml", c.in, c.rule, transform.Target{}), c.want, c.rule, c.name)
	}
}

func TestBackupsAreKnownByTheirNames(t *testing.T) {
	for name, want := range map[string]string{
		"manifests/kube-controller-manager.yaml":        "",
		"manifests/kube-controller-manager.yaml.bak":    "1 warning",
		"manifests/kube-controller-manager.bak.yaml":    "1 warning",
		"kube-controller-manager.yaml~":                 "1 warning",
		"kube-controller-manager.yaml.orig":             "1 warning",
		"kube-controller-manager-backup.yaml":           "1 warning",
		"kube-controller-manager.yaml.old2":             "1 warning",
		"copy_of.yaml":                                  "1 warning",
		"manifests/.kube-controller-manager.yaml.bak":   "",
		"backup/kube-controller-manager.yaml":           "",
		"threshold.yaml":                                "",
		`C:\manifests\kube-controller-manager.yaml.bak`: "1 warning",
		"bold.yaml": "",
	} {
		assert.Equal(t, found(t, name, static(onAWS), "backup-in-manifest-folder", transform.Target{}), want, name)
	}
	assert.Equal(t, found(t, "x.bak", deployed("", onAWS), "backup-in-manifest-folder", transform.Target{}), "", "a Deployment")
}

func TestErrorsBlockTheStageThatTheyGuard(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		target         transform.Target
	}{
		{"a deadlock", deployed("", onAWS), "enable-leader-migration blocked, switch-to-external blocked", transform.Target{}},
		{"an accepted deadlock", deployed("", onAWS), "enable-leader-migration todo, switch-to-external todo", transform.Target{Accept: []string{"deployment-deadlock"}}},
		{"a provider that is gone", strings.Replace(static(onAWS), "v1.26.15", "v1.27.1", 1), "switch-to-external todo, install-ccm not-in-file", transform.Target{}},
		{"nodeipam for AWS", static(onAWS, "--allocate-node-cidrs=true"), "enable-leader-migration todo, switch-to-external blocked", transform.Target{NodeIPAM: true}},
		{"a stale gate", static(onAWS, "--feature-gates=CSIMigrationAWS=false"), "enable-leader-migration todo, switch-to-external blocked", transform.Target{}},
		{"names of nodes", static(onAWS), "enable-leader-migration todo, switch-to-external blocked", transform.Target{}},
		{"names of nodes that are accepted", static(onAWS), "enable-leader-migration todo, switch-to-external todo", transform.Target{Accept: []string{"node-rename"}}},
		{"names of nodes of a chosen end state", static(onAWS), "enable-leader-migration todo, switch-to-external todo", transform.Target{EndState: transform.EndStateExternal}},
		{"an image of 1.28", cloudOf("v1.28.1", onAWS), "install-ccm blocked, disable-leader-migration todo", transform.Target{}},
		{"an image of 1.28 with a configuration", cloudOf("v1.28.1", onAWS), "install-ccm todo, disable-leader-migration todo", generated},
	} {
		if !strings.HasPrefix(c.name, "names") {
			c.target.EndState = transform.EndStateExternal
		}
		assert.Equal(t, states(planned(t, c.in, c.target)), c.want, c.name)
	}
}

// Permissions are documents of their own; files without any tell nothing.
func TestThePermissionForTheLeaseIsSearchedNextToTheManager(t *testing.T) {
	const flag, other = "--enable-leader-migration", "kind: ClusterRole\nmetadata: {name: other}\nrules: []\n"
	for _, c := range []struct {
		name, manager, text string
		misses              bool
	}{
		{"no permissions at all", static(onAWS, flag), "kind: ConfigMap\nmetadata: {name: a}\n", false},
		{"others", static(onAWS, flag), other, true},
		{"that of the lease", static(onAWS, flag), other + "---\n" + leadermigration.Grant(leadermigration.Lease), false},
		{"that of another lease", static(onAWS, flag), leadermigration.Grant("own"), true},
		{"leader migration that is off", static(onAWS, flag+"=false"), other, false},
		{"an external manager", static("--cloud-provider=external", flag), other, false},
		{"a cloud manager", cloud(onAWS, flag), other, false},
	} {
		docs := []*yamledit.Document{parse(t, c.manager)}
		for _, chunk := range yamledit.Split("rbac.yaml", []byte(c.text)) {
			doc := assert.Value(yamledit.Parse(chunk))(t)
			if Format().Grouping.Related.Has(doc) {
				docs = append(docs, doc)
			}
		}
		cluster := assert.Value(Format().Lint(docs, transform.Target{}))(t)
		assert.Equal(t, slices.ContainsFunc(cluster.Findings(""), func(f transform.Finding) bool { return f.Rule == "lease-grant-missing" }), c.misses, c.name)
	}
}
