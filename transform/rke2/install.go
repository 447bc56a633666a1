// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// installCCM adds the HelmChart of the aws-cloud-controller-manager, or brings
// one that is there to take part in the migration.
func (m *migration) installCCM() transform.Stage {
	s := transform.Stage{
		Change:    transform.ChangeOf(m.Doc, m.Target, m.installEdit, m.checkInstall, m.installUndo),
		Files:     m.installFiles,
		NotInFile: m.lacksManager,
	}
	if m.lacksManager() {
		s.Why = "If none runs, " + addsChart() + " adds the chart, without leader migration: there is no other manager to migrate from."
		return m.InstalledNotInFile(s)
	}
	config, _ := m.cloudConfig()
	s.Why, s.Prepare, s.Before = m.installWhat(), aws.ManagerNeeds(config), m.cloudConfigActions()
	s.After = []action.Action{stages.FirstRollout("after the edit, ")}
	s.UndoAfter = []action.Action{action.AllRemoved("kube-system", "helmchart,daemonset", ccm.ChartName)}
	return m.Install(s, "apply this stage and the switch in one change")
}

func addsChart() string { return action.Command("rke-lm apply --stage %s", stages.InstallCCM) }

func (m *migration) installWhat() string {
	if _, own := m.workload(); own {
		return "It runs from a manifest in the file instead of the chart: the edit adds the flag and changes nothing else."
	}
	if chart, found, _ := m.chart(); found && chart.Foreign() != "" {
		return "It runs from a chart other than the published one: the edit adds the flag to its values, and changes nothing that the file does not show."
	}
	return "Chart and image are pinned, the image has the minor version of the cluster, and a pod runs on every control plane."
}

// installFiles returns the chart's values, for those who install it by hand.
func (m *migration) installFiles() ([]action.File, error) {
	chart, found, err := m.chart()
	if err != nil || !found {
		return nil, err
	}
	values, err := chart.File()
	if err != nil || values == "" {
		return nil, err
	}
	files := []action.File{{Name: ccm.ValuesFile, Content: values}}
	docs, err := m.manifests()
	if i := ccm.FindMigrationConfig(docs); err == nil && i >= 0 {
		files = append(files, action.File{Name: ccm.MigrationConfigMap + ".yaml", Content: strings.TrimSuffix(string(docs[i].Bytes()), "\n") + "\n"})
	}
	return files, err
}

func (m *migration) chartOptions() ccm.Options {
	config, _ := m.cloudConfig()
	o := ccm.OptionsFor(m.Target, Name, m.Version, config != "")
	o.MigrationConfig = m.configured()
	if m.lacksManager() {
		o.LeaderMigration, o.MigrationConfig, o.ShortLeases = false, false, false
	}
	return o
}

func (m *migration) installEdit(e *yamledit.Edit) {
	ed, chart, found := m.editChart(e)
	switch {
	case found && m.isSwitched() && !chart.Migrates():
		return // it has left the migration, or never took part
	case found:
		m.completeConfig(ed, chart)
		m.removeReplacedConfig(e)
		if !m.Target.Situation.HasInTreeProvider() { // no manager can take part in a migration any more
			chart.StopMigrating(ed, m.finalTag(chart), false)
		}
		chart.Complete(ed, m.chartOptions(), m.controlPlaneNodes())
		return
	case m.isSwitched() && !m.lacksManager():
		return // a workload of its own takes no part any more
	case m.editWorkload(e, !m.Target.NoLeaderMigration):
		return
	}
	text, err := m.newManifest()
	e.Fail(err)
	m.Bundle().Append(e, text)
	m.removeReplacedConfig(e)
	m.completeOver(ed, text)
}

// removeReplacedConfig removes the provider's configuration from the machines where the switch, which
// does so once the chart has it, came before the chart.
func (m *migration) removeReplacedConfig(e *yamledit.Edit) {
	if config, _ := m.cloudConfig(); m.Target.Situation == transform.Broken && config != "" && m.sameCloudConfig() {
		m.removeCloudConfig(e)
	}
}

// isSwitched reports whether the switch, which comes after this stage, was done. In a broken
// cluster it comes before.
func (m *migration) isSwitched() bool {
	return m.isExternal() && m.Target.Situation != transform.Broken
}

// completeOver brings values for the new chart that the file has elsewhere to the
// migration.
func (m *migration) completeOver(ed ccm.Edits, text string) {
	chart, err := ccm.Added(m.ChartSources(ed.Documents()), text)
	if ed.File.Fail(err); err == nil && chart.Overrides() {
		chart.CompleteOver(ed, chart.Spec("valuesContent").StringAt(), m.chartOptions(), m.controlPlaneNodes())
	}
}

// editChart returns the chart as nodes of an edit, which fails where it cannot be read: then there is none.
func (m *migration) editChart(e *yamledit.Edit) (ed ccm.Edits, chart ccm.Chart, found bool) {
	ed.File = e
	at := m.Bundle().At()
	if !at.Exists() || at.IsNull() {
		return ed, chart, false
	}
	var err error
	if ed.In, err = e.Embedded(at); err == nil {
		chart, found, err = ccm.Find(m.ChartSources(ed.Documents()))
	}
	if e.Fail(err); err != nil {
		return ed, ccm.Chart{}, false
	}
	return ed, chart, found
}

// newManifest returns the HelmChart, and the Secret with the provider's
// configuration where the file holds one.
func (m *migration) newManifest() (string, error) {
	options := m.chartOptions()
	if err := options.CheckMounting(m.RKEConfig()); err != nil {
		return "", err
	}
	text, ok := ccm.Manifest(options, m.controlPlaneNodes())
	if !ok {
		return "", options.Unknown(m.Root.Get("spec", "kubernetesVersion"))
	}
	if options.MigrationConfig {
		config, err := ccm.MigrationConfigManifest(m.RKEConfig(), m.Version, options.Tag(), m.Target.LeaseName)
		if err != nil {
			return "", err
		}
		text += "---\n" + config
	}
	config, inline := m.cloudConfig()
	if !inline {
		return text, nil
	}
	secret, err := ccm.CloudConfigManifest(config)
	return secret + "---\n" + text, err
}

// checkInstall requires that no machine is configured differently, but for the provider's
// configuration that the chart of a broken cluster has taken over, and that the
// chart lands on every control plane and takes part in the migration.
func (m *migration) checkInstall(after *migration) error {
	taken := func(_ effective.Class, key string, _, now any) bool {
		return m.Target.Situation == transform.Broken && key == cloudConfigKey && now == nil && after.carriesCloudConfig()
	}
	if err := m.check(after, taken); err != nil {
		return err
	}
	if w, found := after.workload(); found {
		return checkWorkload(w, !m.Target.NoLeaderMigration)
	}
	chart, found, err := after.chart()
	return cmp.Or(err, transform.Require(found, "the manifest would hold no chart %s", ccm.ChartName), chart.CheckJoined(m.chartOptions(), after.controlPlaneNodes()))
}

// unchanged is the promise of a stage that touches no machine's configuration.
func unchanged(effective.Class, string, any, any) bool { return false }

// controlPlaneNodes returns what the scheduler sees of the control planes:
// RKE2's role labels, Rancher's taints on machines that are no workers, and the
// pool's own labels and taints (rancher pkg/capr/planner).
func (m *migration) controlPlaneNodes() []ccm.NodeClass {
	return lists.Map(lists.Where(m.Classes, effective.Class.ControlPlane), nodeClass)
}

func nodeClass(c effective.Class) ccm.NodeClass {
	n := ccm.NodeClass{Name: c.Name, Labels: map[string]string{
		"kubernetes.io/os":                      "linux",
		"node-role.kubernetes.io/control-plane": "true",
		"node-role.kubernetes.io/master":        "true",
	}, Taints: []corev1.Taint{ccm.Uninitialized}}
	if c.Etcd() {
		n.Labels["node-role.kubernetes.io/etcd"] = "true"
	}
	if c.Worker() {
		n.Labels["node-role.kubernetes.io/worker"] = "true"
	} else {
		n.Taints = append(n.Taints, corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule})
		if c.Etcd() {
			n.Taints = append(n.Taints, corev1.Taint{Key: "node-role.kubernetes.io/etcd", Effect: corev1.TaintEffectNoExecute})
		}
	}
	for _, e := range c.Pool.Get("labels").Entries() {
		if s, ok := e.Value.String(); ok {
			n.Labels[e.Key] = s
		}
	}
	taints, _, _ := k8s.Decode[[]corev1.Taint](c.Pool.Get("taints"))                                            // Open has checked their types
	n.Taints = append(n.Taints, slices.DeleteFunc(taints, func(t corev1.Taint) bool { return t.Key == "" })...) // an API server takes keys in their own case alone
	return n
}

// installUndo takes out the chart that installCCM would write. As every reverse it removes what its stage would
// have written, if it is as the stage writes it; plan.Undo proves that the stage would write it again.
func (m *migration) installUndo(e *transform.Reverse) {
	chart, found, err := m.chart()
	switch {
	case err != nil, !found && m.Target.NoLeaderMigration:
		e.Fail(err)
		return
	case !found:
		m.undoWorkload(e, false)
		return
	}
	back := *m
	back.Target.ShortLeases = chart.HasShortLeases()
	text, err := back.newManifest()
	e.Fail(err)
	docs, _ := m.manifests() // the chart is among them
	ours, all := leadermigration.WhereIn(docs, text)
	if !all {
		e.Fail(transform.Lost(chart.Root, "this HelmChart is not the one that these choices (--chart-version, --ccm-image-tag and the like) install"))
	}
	if chart.Overrides() {
		e.Usual(chart.Decider("args").At, "it may have had the arguments of the migration before")
	}
	m.Bundle().Remove(e, ours)
}

// installed reports whether a chart is the one that installCCM writes, but for
// the flag.
func (m *migration) installed(chart ccm.Chart, o ccm.Options) bool {
	if chart.Overrides() {
		return false
	}
	o.LeaderMigration, o.MigrationConfig, o.ShortLeases = chart.Migrates(), chart.OwnConfig(), chart.HasShortLeases()
	text, ok := ccm.Manifest(o, m.controlPlaneNodes())
	_, all := leadermigration.WhereIn([]*yamledit.Document{chart.Root.Document()}, text)
	return ok && all
}

// ChartSources returns where the file may hold charts and their values. The
// documents are those of additionalManifest, perhaps as part of an edit.
func (c *Cluster) ChartSources(docs []*yamledit.Document) helmchart.Sources {
	return helmchart.Sources{Docs: docs, ChartValues: c.RKEConfig().Get("chartValues"), Fields: chartFields(c.Version)}
}

func (c *Cluster) findCharts() ([]ccm.Chart, error) {
	docs, err := c.manifests()
	if err != nil {
		return nil, err
	}
	return ccm.FindAll(c.ChartSources(docs))
}

// chart returns the cluster's HelmChart of the cloud-controller-manager.
func (c *Cluster) chart() (ccm.Chart, bool, error) { return ccm.First(c.charts()) }

// chartFields returns the fields of HelmCharts that a release of RKE2 knows: those of its
// helm-controller, of a minor from which patch on; later minors know
// it from the start (rke2 go.mod at all tags up to v1.36.3+rke2r1; helm-controller
// pkg/apis/helm.cattle.io/v1/types.go: valuesSecrets from v0.16.7, values from
// v0.16.20 and v0.17.0).
func chartFields(version string) helmchart.Fields {
	return helmchart.Fields{
		Values:        k8s.Since(version, "v1.33.11", "v1.34.7", "v1.35.4"),
		ValuesSecrets: k8s.Since(version, "v1.30.12", "v1.31.8", "v1.32.4"),
	}
}

// A cloud-controller-manager may run from a DaemonSet or Deployment among the
// manifests instead of the chart. The chart would make a DaemonSet of the same
// name, and Helm takes over no objects; so the stages change the workload's flag,
// and leave all else about it to its author.

// workload returns it, if it is used instead of the chart.
func (m *migration) workload() (ccm.Workload, bool) {
	if _, found, err := m.chart(); found || err != nil {
		return ccm.Workload{}, false
	}
	docs, _ := m.manifests()
	return ccm.FindWorkload(docs)
}

// editWorkload queues that it takes part in the migration, or that it no longer
// does. found is false where there is none.
func (m *migration) editWorkload(e *yamledit.Edit, migrates bool) (found bool) {
	w, found := m.workload()
	if !found {
		return false
	}
	if migrates && m.configured() {
		e.Fail(w.Container.Errorf("this cloud-controller-manager runs without the chart, so rke-lm does not add its configuration", "remove --leader-migration-config, or mount the one that rke-lm leader-migration-config prints"))
	}
	in, err := e.Embedded(m.Bundle().At())
	if err == nil {
		w, _ = ccm.FindWorkload(in.Documents()) // the same, as nodes of the edit
		err = w.Migrate(in, migrates, m.Target.ShortLeases)
	}
	e.Fail(err)
	return true
}

// checkWorkload requires the flag, or that it is gone.
func checkWorkload(w ccm.Workload, migrates bool) error {
	return transform.Require(w.Migrates() == migrates, "the cloud-controller-manager would not have the expected --%s", ccm.LeaderFlag)
}

// undoWorkload queues the reverse of a stage that gave or took the flag.
func (m *migration) undoWorkload(e *transform.Reverse, migrates bool) {
	if w, found := m.workload(); found && w.Migrates() != migrates {
		e.Usual(w.Container, "the flag --"+ccm.LeaderFlag+" may have existed before, at any place among the arguments")
		m.editWorkload(e.Edit, migrates)
	}
}

// An external cluster needs a cloud-controller-manager, and its file need not hold
// one: someone may have installed it with Helm or Fleet. So nothing is added
// unasked.

// lacksManager reports whether the cluster is external and no
// cloud-controller-manager is in its file.
func (m *migration) lacksManager() bool {
	// Without the second no control plane is in the file, or the stage comes after the switch.
	return m.isSwitched() && m.switching() && !m.Manager().Exists()
}

// Manager implements transform.Cluster. What cannot be read may hold one.
func (m *migration) Manager() yamledit.Node {
	_, chart, err := m.chart()
	if _, own := m.workload(); err == nil && !chart && !own {
		return yamledit.Node{}
	}
	return m.RKEConfig().Get(manifestKey)
}

// checkCloud refuses an external cluster that shows another cloud, and nothing of AWS.
func (m *migration) checkCloud() error {
	if !m.lacksManager() {
		return nil
	}
	docs, _ := m.manifests()
	if name := ccm.OtherManager(docs); name != "" {
		return transform.NothingToMigrate(m.RKEConfig().Get(manifestKey), "the provider is external, and "+name+" is the cloud-controller-manager of another cloud")
	}
	var driver yamledit.Node
	for _, c := range m.Classes {
		driver = c.Pool.Get("machineConfigRef", "kind")
		if kind := driver.StringAt(); kind == "" || kind == aws.MachineConfigKind {
			return nil
		}
	}
	return transform.NothingToMigrate(driver, "the provider is external, and no machine pool is one of AWS")
}

// absent is the manager that an external cluster on AWS lacks.
func (m *migration) absent() []rules.Absent {
	at := m.RKEConfig()
	if c, has := lists.Find(m.Classes, effective.Class.ControlPlane); has {
		at = m.Effective(c).ProviderOrigin(managerArgs)
	}
	return lists.If(m.lacksManager() && m.checkCloud() == nil, rules.Absent{At: at, Or: "or, on AWS, add the chart with " + addsChart()})
}
