// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package rules holds the rules that several formats have, by their subject: the ID, the
// severity, the stages that each stops, what it finds and what to do.
//
// Invariant: an ID means the same everywhere. A format says where the values are, and
// passes stages or a description only where its own differ.
package rules

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// What rules stop. An earlier stage does not answer for what a later one puts right.
var (
	EveryEdit    = []string{stages.GrantMigrationLease, stages.EnableLeaderMigration, stages.SwitchToExternal}
	FlagEdits    = []string{stages.EnableLeaderMigration, stages.SwitchToExternal}
	TheSwitch    = []string{stages.SwitchToExternal}
	TheChart     = []string{stages.InstallCCM}
	ChartRuns    = []string{stages.InstallCCM, stages.SwitchToExternal}
	BothManagers = []string{stages.EnableLeaderMigration, stages.InstallCCM, stages.SwitchToExternal}
	ImageMoves   = []string{stages.InstallCCM, stages.DisableLeaderMigration}
	NewRelease   = []string{stages.SwitchToExternal, stages.UpgradeKubernetes}
	FlagLeaves   = []string{stages.SwitchToExternal, stages.DisableLeaderMigration}
	BeforeSwitch = []string{stages.EnableLeaderMigration, stages.InstallCCM}
	OfManagers   = slices.Concat(BeforeSwitch, FlagLeaves)
	OfManifest   = slices.Concat([]string{stages.GrantMigrationLease}, TheChart, FlagLeaves)
)

// BeforeChart reports whether a stage comes before the one that puts the chart right: it does not wait for that.
func BeforeChart(stage string, t transform.Target) bool {
	return stages.IsBefore(stage, stages.InstallCCM, t)
}

// The providers and flags of a migration, as every component spells them.
const (
	inTree     = aws.Name
	external   = "external"
	leaderFlag = ccm.LeaderFlag
	configFlag = "leader-migration-config"
)

// Subject is a cluster as the shared rules see it: its format lists what a rule checks.
type Subject interface {
	Chosen() transform.Target
	Components(rule string) []Component
	Charts(rule string) []Chart
	Bundle() leadermigration.Bundle // the manifests in a string of the file
}

// Rule is a row of the shared rules.
type Rule = transform.Checked[Subject]

// Of returns shared rules for the table of a format. None of them can be corrected without a decision.
func Of[C Subject](shared ...Rule) []transform.Checked[C] {
	return lists.Map(shared, func(r Rule) transform.Checked[C] { return By(r, func(c C) Subject { return c }) })
}

// By is a shared rule for the table of a format that has the values which the rule checks.
func By[C, V any](r transform.Checked[V], values func(C) V) transform.Checked[C] {
	return transform.Checked[C]{Rule: r.Rule, Check: func(c C, found *transform.Findings) { r.Check(values(c), found) }}
}

// about is a rule that asks the cluster for what it checks, by its own ID.
func about(r transform.Rule, check func(s Subject, rule string, found *transform.Findings)) Rule {
	return Rule{Rule: r, Check: func(s Subject, found *transform.Findings) { check(s, r.ID, found) }}
}

// ofComponents is a rule that checks components one by one. What several machines have in common is found once.
func ofComponents(r transform.Rule, check func(Component, transform.Report)) Rule {
	return Rule{Rule: r, Check: func(s Subject, found *transform.Findings) {
		seen := map[transform.Finding]bool{} // so that thousands are not compared with each other; a check may change what it has added
		for _, one := range s.Components(r.ID) {
			check(one, func(at yamledit.Node, message, fix string) *transform.Finding {
				f := one.finding(at, message, fix)
				if seen[f] && slices.Contains(*found, f) {
					return &f
				}
				seen[f] = true
				return found.Add(f)
			})
		}
	}}
}

// ofCharts is a rule that checks the values of charts one by one.
func ofCharts(r transform.Rule, check func(Chart, *transform.Findings)) Rule {
	return Rule{Rule: r, Check: func(s Subject, found *transform.Findings) {
		for _, one := range s.Charts(r.ID) {
			check(one, found)
		}
	}}
}

// Component is a component of Kubernetes on some machines.
type Component struct {
	Name     string // such as kube-apiserver
	Args     []args.Arg
	Provider string // that it takes, where a rule depends on it
	Version  string // that takes the arguments
	Stage    string // the one after which it is checked; "" for the document as it is
	Target   transform.Target
	// Place makes a finding about a node of the arguments; nil for one of the document.
	Place func(at yamledit.Node, message, fix string) transform.Finding
}

// finding is one about a node of the arguments.
func (c Component) finding(at yamledit.Node, message, fix string) transform.Finding {
	if c.Place == nil {
		return transform.FindingAt(at, message, fix)
	}
	return c.Place(at, message, fix)
}

// Chart is that of the cloud-controller-manager, as a file shows it.
type Chart struct {
	ccm.Chart
	Format, Release string
	External        bool // the provider of the cluster
	Target          transform.Target
	Nodes           func() []ccm.NodeClass // of the control planes
	Label           string                 // which they have
	// At makes a finding about the value at a path.
	At func(message, fix string, path ...string) transform.Finding
}

// chartArgs is where the chart's values have the manager's arguments.
const chartArgs = "args"

func isOff(gate string) bool { return strings.EqualFold(gate, "false") || gate == "0" }

// CSIGateStale checks the gate that older documentation has in-tree users set. It moves
// volumes of the in-tree provider to the EBS CSI driver: locked from 1.25 on, gone
// from 1.27 on.
var CSIGateStale = ofComponents(transform.Rule{ID: "csi-gate-stale", Severity: transform.Error, Guards: NewRelease,
	Doc: "The feature gate CSIMigrationAWS is set to false for Kubernetes 1.25 or later, or named for 1.27 or later, which stops the component. A note at 1.23 and 1.24, where false still works."}.Because(
	"A component that is given a gate that is locked or removed exits: from 1.25 on CSIMigrationAWS=false, from 1.27 on the name itself.", "kubernetes/kubernetes pkg/features/kube_features.go, v1.23 to v1.27", "Remove CSIMigrationAWS from every feature-gates argument.", "Never with the release that the finding names; the component does not start."),
	func(c Component, at transform.Report) {
		for _, a := range c.Args {
			switch value, named := args.Gates([]args.Arg{a})[aws.CSIGate]; {
			case !named:
			case k8s.From(c.Version, aws.FirstWithout):
				at(a.Node(), "Kubernetes "+semver.MajorMinor(c.Version)+" does not know the feature gate "+aws.CSIGate+", and the component stops", "remove the gate")
			case !isOff(value):
			case k8s.From(c.Version, "v1.25"):
				at(a.Node(), "the feature gate "+aws.CSIGate+" is locked on from Kubernetes 1.25 on, and the component stops", "remove the gate, after the EBS CSI driver runs on every node")
			case k8s.From(c.Version, "v1.23") && c.Stage == "": // only an upgrade to come stops: the release takes the gate and has it on by default
				at(a.Node(), "the feature gate "+aws.CSIGate+" is off, which keeps EBS volumes in-tree; from Kubernetes 1.25 on the component stops with it",
					"install the EBS CSI driver on every node and remove the gate before the upgrade to 1.25, and before the switch to external").Severity = transform.Note
			}
		}
	})

// FlagUnknown checks the flags and feature gates of components against those of the release.
var FlagUnknown = ofComponents(transform.Rule{ID: "flag-unknown", Severity: transform.Error, Guards: NewRelease,
	Doc: "A component does not start: the release that the cluster runs or moves to does not have one of its flags or feature gates. A note for a release that is later than the tables, which end at 1.36."}.Because(
	"A component with a flag or gate that it does not have exits, and after an upgrade no control plane, or no node, starts.", "kubernetes/kubernetes cmd and pkg/features, v1.22 to v1.36; rancher/rke2 #8926", "Remove the flag or the gate, or correct its name, before the upgrade.", "If the component is not the one of Kubernetes, and has the flag."),
	flagUnknown)

// flagUnknown leaves the arguments that other rules check by themselves to them.
func flagUnknown(c Component, at transform.Report) {
	check := func(a args.Arg, of, what, name string) {
		has, last, sure := k8s.FlagOf(of, name, c.Version)
		if has {
			return
		}
		message := fmt.Sprintf("%s %s has no %s%s", c.Name, semver.MajorMinor(c.Version)[1:], what, name)
		switch {
		case last == 0: // it can be anything, a secret too
			message = fmt.Sprintf("%s has nothing of this name, in no release", c.Name)
		case last < k8s.Minor(c.Version):
			message += fmt.Sprintf(", which 1.%d was the last to have", last)
		}
		if f := at(a.Node(), message+", and does not start with it", "remove it, or correct its name"); !sure {
			f.Severity = transform.Note
		}
	}
	for _, a := range c.Args {
		name := strings.TrimRight(strings.ReplaceAll(a.Name, "_", "-"), "+-")
		switch {
		case name == args.GatesFlag:
			for _, gate := range lists.Keys(args.Gates([]args.Arg{a})) {
				if gate != aws.CSIGate && gate != migrationGate {
					check(a, k8s.Gates, "feature gate ", gate)
				}
			}
		case c.Name != "kube-apiserver" || name != "cloud-provider" && name != "cloud-config":
			check(a, c.Name, "flag --", name)
		}
	}
}

// CloudControllersOff finds an in-tree kube-controller-manager that does not start its cloud controllers.
// The route controller is left out: it only runs if routes are configured.
var CloudControllersOff = ofComponents(transform.Rule{ID: "cloud-controllers-off", Severity: transform.Error, Guards: FlagEdits,
	Doc: "kube-controller-manager is in-tree, and its argument `controllers` turns off service or cloud-node-lifecycle: with leader migration it holds the lease and does not run them, and no other manager can."}.Because(
	"Load balancers do not change and deleted instances stay as Nodes. With leader migration the manager holds the lease, so that the other one waits.", "kubernetes/kubernetes cmd/kube-controller-manager/app, v1.22 to v1.26; kubermatic/kubeone v1.5.6, pkg/tasks", "Remove the controllers that are turned off from the list.", "If a cloud-controller-manager without leader migration runs them already."),
	func(c Component, at transform.Report) {
		a, set := args.Last(c.Args, leadermigration.ControllersFlag)
		if !set || c.Provider != inTree {
			return
		}
		off := lists.Where([]string{"service", "cloud-node-lifecycle"}, func(name string) bool { return !leadermigration.Starts(a.Value, name) })
		if len(off) > 0 {
			at(a.Node(), "kube-controller-manager is in-tree and does not start "+strings.Join(off, " and ")+": no manager does, unless a cloud-controller-manager runs without leader migration",
				"remove the controllers that are turned off from the list; the switch to external stops them")
		}
	})

// ConfigNotMounted is for a manager's configuration that is not where the manager
// looks for it. What puts files there is the format's: it checks and describes it.
var ConfigNotMounted = transform.Rule{ID: "config-not-mounted", Severity: transform.Error, Guards: BothManagers}.Because(
	"A manager whose configuration file does not exist exits when it starts.", transform.SourceConfiguration, "Let the tool write it with --leader-migration-config generate, or mount the file.", "If another program puts the file on every control plane.")

// ConfigWithoutFlag finds the configuration of a manager that takes no part in the
// migration. One that is external already may keep it for an undo.
var ConfigWithoutFlag = ofComponents(transform.Rule{ID: "config-without-flag", Severity: transform.Error, Guards: BothManagers}.Because(
	"Without enable-leader-migration the manager ignores the configuration and runs all cloud controllers at once.", transform.SourceMigration, "Add enable-leader-migration, or remove leader-migration-config.", "If the configuration is kept on purpose for a later stage of another program."),
	func(c Component, at transform.Report) {
		switch a, idle := IdleConfig(c.Args); {
		case !idle:
		case c.Provider == external:
			at(a.Node(), "an external manager takes no part in the migration, and ignores its configuration", "remove the argument once no undo needs it").Severity = transform.Note
		default:
			at(a.Node(), "without enable-leader-migration the manager ignores its configuration, and takes no part in the migration", "add enable-leader-migration, or remove the argument")
		}
	})

// IdleConfig returns the argument that names a configuration where the flag is not on.
func IdleConfig(list []args.Arg) (args.Arg, bool) {
	a, named := args.Last(list, configFlag)
	return a, named && !args.Enables(list, leaderFlag)
}

// FlagLeftOnKCM finds an external kube-controller-manager that keeps the flag.
var FlagLeftOnKCM = ofComponents(transform.Rule{ID: "flag-left-on-kcm", Severity: transform.Error, Guards: TheSwitch,
	Doc: "kube-controller-manager is external and keeps enable-leader-migration: it holds the lease and runs nothing, so the cloud-controller-manager never starts its controllers."}.Because(
	"The external kube-controller-manager acquires the migration lease and runs nothing, so no manager makes load balancers or routes.", "kubernetes/kops #13241; "+transform.SourceMigration, "Remove enable-leader-migration in the change that sets the provider to external.", ""),
	func(c Component, at transform.Report) {
		if a, set := args.Last(c.Args, leaderFlag); c.Provider == external && set && a.True() {
			at(a.Node(), "kube-controller-manager is external and keeps enable-leader-migration: it wins the migration lease and runs no cloud controller, and the cloud-controller-manager waits forever",
				"remove the flag here")
		}
	})

// FlagOnExternalGate checks the gate of leader migration itself: on by default in 1.22
// and 1.23, locked from 1.24 on, gone from 1.27 on.
var FlagOnExternalGate = ofComponents(transform.Rule{ID: "flag-on-external-gate", Severity: transform.Error, Guards: append([]string{stages.UpgradeKubernetes}, FlagEdits...),
	Doc: "The feature gate ControllerManagerLeaderMigration is named for Kubernetes 1.27 or later, which stops the component. Or it is false, which leader migration does not work with."}.Because(
	"From 1.27 on the gate does not exist, and a component that is given it exits. Set to false, it disables leader migration.", transform.SourceRemovals, "Remove ControllerManagerLeaderMigration from every feature-gates argument.", "Never with the release that the finding names; the component does not start."),
	func(c Component, at transform.Report) {
		for _, a := range c.Args {
			switch value, named := args.Gates([]args.Arg{a})[migrationGate]; {
			case !named:
			case k8s.From(c.Version, aws.FirstWithout):
				at(a.Node(), "release "+semver.MajorMinor(c.Version)+" does not know the feature gate "+migrationGate+", and the component stops", "remove the gate")
			case isOff(value):
				at(a.Node(), "the feature gate "+migrationGate+" is off: leader migration does not work, and from 1.24 on the component stops", "remove the gate")
			}
		}
	})

const migrationGate = "ControllerManagerLeaderMigration"

// LeaseGrantMissing is for leader migration that is on before its permission is there: a
// kube-controller-manager that runs the cloud controllers itself needs it.
var LeaseGrantMissing = ofComponents(transform.Rule{ID: "lease-grant-missing", Severity: transform.Warning, Guards: []string{stages.EnableLeaderMigration},
	Doc: "kube-controller-manager has leader migration enabled, and the file grants it no permission on the migration lease: no manager runs the cloud controllers, unless the permission was granted elsewhere. For manifests, lint checks those whose file or folder has permissions."}.Because(
	"kube-controller-manager leads, and cannot acquire the migration lease: services, routes and node lifecycles run nowhere, silently.", "kubernetes/kops #12723; kubernetes/kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy, up to v1.30", "Apply the stage grant-migration-lease first.", "If `rke-lm verify` shows that another source grants the permission."),
	func(c Component, at transform.Report) {
		if a, set := args.Last(c.Args, leaderFlag); c.Provider == inTree && set && a.True() {
			at(a.Node(), "leader migration is enabled, and the file grants kube-controller-manager no permission on the migration lease: without it no manager runs the cloud controllers",
				"apply grant-migration-lease, or check that the cluster has a Role and RoleBinding for the lease")
		}
	})
