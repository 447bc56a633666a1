// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Bundle holds the manifests that RKE applies with each run and never prunes.
// What addons_include names is not in the file and stays as it is.
func (m *migration) Bundle() leadermigration.Bundle {
	return leadermigration.Bundle{Holder: m.Config, Key: m.spelling.of(addonsKey), Lease: m.Target.Lease()}
}

// grantMigrationLease adds a Role and RoleBinding for the migration lease to
// addons.
func (m *migration) grantMigrationLease() transform.Stage {
	name, kinds := m.Target.Lease(), "role,rolebinding"
	return m.Grant(transform.Stage{
		Change:  transform.ChangeOf(m.Doc, m.Target, m.grantEdit, m.checkGrant, m.Bundle().Revoke),
		Skipped: m.neverGranted,
		After:   []action.Action{m.taken()},
		Caution: "RKE applies addons and never prunes them, so the objects stay in the cluster until you delete them; at that point no manager may have the flag.",
		UndoAfter: []action.Action{
			m.taken(),
			action.DeleteAll(leadermigration.Namespace, kinds, name, "RKE does not delete what was removed from addons"),
			action.AllRemoved(leadermigration.Namespace, kinds, name),
		},
	})
}

// neverGranted reports whether the cluster is external and its addons have no permission on the
// lease.
func (m *migration) neverGranted() bool { return m.isExternal() && !m.Bundle().Grants() }

func (m *migration) grantEdit(e *yamledit.Edit) {
	if !m.isExternal() {
		m.Bundle().Grant(e)
	}
}

// checkGrant requires that only addons changed, and that the lease can be locked.
func (m *migration) checkGrant(after *migration) error {
	return cmp.Or(m.check(after, func(path string, _, _ any) bool { return path == "addons" }), after.Bundle().CheckGrant())
}

// enableLeaderMigration gives kube-controller-manager the flag.
func (m *migration) enableLeaderMigration() transform.Stage {
	return m.Enable(transform.Stage{
		Why:       stages.Also(m.configured(), " A LeaderMigrationConfiguration, in a folder that RKE mounts, lists these controllers.") + " RKE restarts it on one control plane after the other.",
		Change:    transform.ChangeOf(m.Doc, m.Target, m.enableEdit, m.checkEnable, m.enableUndo),
		Skipped:   func() bool { return m.neverGranted() && !m.migrates() && (m.file == nil || !m.file.Migrates()) },
		Before:    lists.If(m.configured(), action.PlaceFile(leadermigration.ConfigFile, managerConfig, "before the edit, on every control-plane node: kube-controller-manager exits without the file; plan --out writes it")),
		After:     []action.Action{m.taken()},
		Files:     m.enableFiles,
		UndoAfter: []action.Action{m.taken()},
	})
}

func (m *migration) enableEdit(e *yamledit.Edit) {
	if m.isExternal() || m.migrates() && !m.lacksConfig() && len(m.timings()) == 0 {
		return // nothing puts the flag on an external manager
	}
	m.setFlag(e)
}

// setFlag switches the flag on, and names the configuration. Arguments that may be
// repeated come last and win, so the flag is set in them where they have it.
func (m *migration) setFlag(e *yamledit.Edit) {
	set := m.leaderArgs()
	if repeated := m.get(servicesKey, manager, argsArrayKey); repeated.Get(leaderFlag).Exists() {
		args.Update{Set: set[:1]}.ApplyMap(e, repeated)
		set = set[1:]
	}
	if own := m.get(servicesKey, manager, argsKey); own.IsMap() || len(set) == 0 {
		args.Update{Set: set}.ApplyMap(e, own)
		return
	}
	fresh := lists.Map(set, func(a args.Arg) yamledit.Pair { return yamledit.Pair{Key: a.Name, Value: a.Value} })
	m.put(e, yamledit.Map(fresh), servicesKey, manager, argsKey)
}

// The paths of the manager's flags in what RKE reads.
const (
	argsPath  = "services.kubeController.extraArgs."
	arrayPath = "services.kubeController.extraArgsArray."
)

func (m *migration) checkEnable(after *migration) error {
	gained := func(path string, before, now any) bool {
		timing := slices.ContainsFunc(m.timings(), func(a args.Arg) bool { return path == argsPath+a.Name && before == nil && now == a.Value })
		return path == argsPath+leaderFlag || path == arrayPath+leaderFlag || timing || path == argsPath+configFlag && m.configured() && before == nil && now == managerConfig
	}
	return cmp.Or(m.check(after, gained),
		transform.Require(after.migrates(), "kube-controller-manager would not get %s", leaderFlag),
		transform.Require(len(after.timings()) == 0, "kube-controller-manager would not get the timings of short leases"),
		transform.Require(!after.lacksConfig(), "kube-controller-manager would not get %s", configFlag))
}

// enableUndo takes the flag off the manager. An external manager has none: there
// the switch is undone first.
func (m *migration) enableUndo(e *transform.Reverse) {
	if m.isExternal() || !m.migrates() {
		return
	}
	if n := m.get(servicesKey, manager, argsArrayKey).Get(leaderFlag); n.Exists() {
		e.Fail(transform.Lost(n, leaderFlag+" differs from what rke-lm writes, so it existed before"))
	}
	at := m.get(servicesKey, manager, argsKey)
	flag := at.Get(leaderFlag)
	if text := flag.StringAt(); text != "true" {
		e.Fail(transform.Lost(flag, leaderFlag+" differs from what rke-lm writes, so it existed before"))
	}
	names := m.leaving()
	m.removeFlags(e.Edit, names)
	if at.Len() <= len(names) {
		e.Usual(at, "it has no other argument, and was absent, empty or null before")
	}
}

// removeFlags takes flags off the manager, and with them the mappings that hold
// nothing else, up to the services. A mapping with comments stays, empty, and so do
// those of an object that Rancher's types always write.
func (m *migration) removeFlags(e *yamledit.Edit, names []string) {
	for _, key := range []string{argsKey, argsArrayKey} {
		at := m.get(servicesKey, manager, key)
		removed := lists.Where(lists.Map(names, func(name string) yamledit.Node { return at.Get(name) }), yamledit.Node.Exists)
		if len(removed) > 0 && len(removed) == at.Len() {
			removed = m.emptied(at, removed)
		}
		for _, n := range removed {
			e.Remove(n)
		}
	}
}

// emptied returns what goes with all entries of a mapping.
func (m *migration) emptied(at yamledit.Node, removed []yamledit.Node) []yamledit.Node {
	for !at.Same(m.Config) && len(at.Comments()) == 0 {
		removed = []yamledit.Node{at}
		if isObject(m.Doc) {
			break // Rancher writes services and each of them, empty or not
		}
		if at = at.Parent(); at.Len() > 1 {
			break
		}
	}
	return removed
}

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
	return !m.Target.NoLeaderMigration && (m.generates() || m.configFile() == managerConfig)
}

func (m *migration) generates() bool {
	return m.Target.LeaderMigrationConfig == transform.ConfigGenerate
}

// configFile returns the file that kube-controller-manager reads its configuration
// from, or "".
func (m *migration) configFile() string { return args.Value(m.argsOf(manager), configFlag) }

func (m *migration) lacksConfig() bool { return m.configured() && m.configFile() == "" }

// leaderArgs are the arguments that the manager needs; a configuration that is
// named already stays.
func (m *migration) leaderArgs() []args.Arg {
	return slices.Concat([]args.Arg{args.On(leaderFlag)}, lists.If(m.lacksConfig(), args.With(configFlag, managerConfig)), m.timings())
}

// timings are the timings of short leases that the manager lacks, where it gets them.
func (m *migration) timings() []args.Arg {
	return leadermigration.Missing(m.Target.ShortLeases, m.argsOf(manager), leadermigration.KubeTimings())
}

// leaving are the flags that go with the switch. A configuration goes only where
// the choices show it to an undo; without the flag it has no effect.
func (m *migration) leaving() []string {
	ours := m.generates() && m.configFile() == managerConfig
	return slices.Concat([]string{leaderFlag}, lists.If(ours, configFlag), leadermigration.LeavingTimings(m.argsOf(manager)))
}

func (m *migration) enableFiles() ([]action.File, error) {
	if !m.configured() {
		return nil, nil
	}
	text, err := leadermigration.Make(leadermigration.Config{Component: leadermigration.Manager, Kubernetes: m.Version, Lease: m.Target.LeaseName})
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
	text, err := ccm.MigrationConfigManifest(m.Config, m.Version, m.chartOptions(m.Version).Tag(), m.Target.LeaseName)
	return []action.File{{Name: configMapFile, Content: text}}, err
}

// dropConfig is what is left to do when the chart has let go of its configuration.
func (m *migration) dropConfig() []action.Action {
	return lists.If(m.configured() && !m.Target.KeepLeaderMigration, action.DeleteObject(leadermigration.Namespace, "configmap", ccm.MigrationConfigMap))
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
