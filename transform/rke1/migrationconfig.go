// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"path"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
)

const (
	configFlag = leadermigration.ConfigFlag
	// mounted is the folder that RKE mounts into the container of
	// kube-controller-manager (rancher/rke, services); any other one takes extra_binds.
	mounted       = "/etc/kubernetes"
	managerConfig = mounted + "/" + leadermigration.ConfigFile
	configMapFile = ccm.MigrationConfigMap + ".yaml"
	bindsKey      = "extra_binds"
)

// configured reports whether the managers get a configuration each: the operator
// asked for it, or kube-controller-manager has one already.
func (m *migration) configured() bool {
	return !m.target.NoLeaderMigration && (m.generates() || m.configFile() == managerConfig)
}

func (m *migration) generates() bool {
	return m.target.LeaderMigrationConfig == transform.ConfigGenerate
}

// configFile returns the file that kube-controller-manager reads its configuration
// from, or "".
func (m *migration) configFile() string { return args.Value(m.argsOf(manager), configFlag) }

func (m *migration) lacksConfig() bool { return m.configured() && m.configFile() == "" }

// leaderArgs are the arguments that the manager needs; a configuration that is
// named already stays.
func (m *migration) leaderArgs() []args.Arg {
	list := []args.Arg{args.On(leaderFlag)}
	if m.lacksConfig() {
		list = append(list, args.With(configFlag, managerConfig))
	}
	return append(list, m.timings()...)
}

// timings are the timings of short leases that the manager lacks, where it gets them.
func (m *migration) timings() []args.Arg {
	return leadermigration.Missing(m.target.ShortLeases, m.argsOf(manager), leadermigration.KubeTimings())
}

// leaving are the flags that go with the switch. A configuration goes only where
// the choices show it to an undo; without the flag it has no effect.
func (m *migration) leaving() []string {
	leaving := []string{leaderFlag}
	if m.generates() && m.configFile() == managerConfig {
		leaving = append(leaving, configFlag)
	}
	return append(leaving, leadermigration.LeavingTimings(m.argsOf(manager))...)
}

func (m *migration) enableFiles() ([]action.File, error) {
	if !m.configured() {
		return nil, nil
	}
	text, err := leadermigration.Make(leadermigration.Config{Component: leadermigration.Manager, Kubernetes: m.Version, Lease: m.target.LeaseName})
	return []action.File{{Name: leadermigration.ConfigFile, Content: text}}, err
}

// configActions bring the configuration of the cloud-controller-manager to the
// cluster, before the chart that mounts it.
func (m *migration) configActions() []action.Action {
	return lists.If(m.configured(), action.ApplyFile(configMapFile, "apply the configuration of the manager to the cluster, before the chart that mounts it; plan --out writes it"))
}

func (m *migration) configFiles() ([]action.File, error) {
	if !m.configured() {
		return nil, nil
	}
	text, err := ccm.MigrationConfigManifest(m.Config, m.Version, m.chartOptions(m.Version).Tag(), m.target.LeaseName)
	return []action.File{{Name: configMapFile, Content: text}}, err
}

// dropConfig is what is left to do when the chart has let go of its configuration.
func (m *migration) dropConfig() []action.Action {
	return lists.If(m.configured() && !m.target.KeepLeaderMigration, action.DeleteObject(leadermigration.Namespace, "configmap", ccm.MigrationConfigMap))
}

// configNotMounted finds one that is not in the manager's container.
func (m *migration) configNotMounted(found *transform.Findings) {
	a, named := args.Last(m.argsOf(manager), configFlag)
	if !named || !m.migrates() || m.inContainer(a.Value) {
		return
	}
	found.At(a.Node(), "RKE mounts "+mounted+" into the manager's container, and no entry of "+m.spelling.of(bindsKey)+" mounts this file: the manager exits",
		"copy the file to "+mounted+", or mount its folder with "+m.spelling.of(bindsKey))
}

// inContainer reports whether the manager's container has a file.
func (m *migration) inContainer(file string) bool {
	folders := []string{mounted}
	for _, n := range m.get(servicesKey, manager, bindsKey).Items() {
		if parts := strings.Split(n.StringAt(), ":"); len(parts) > 1 {
			folders = append(folders, path.Clean(parts[1]))
		}
	}
	return slices.ContainsFunc(folders, func(f string) bool { return file == f || strings.HasPrefix(file, f+"/") })
}
