// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The reasons of rules that a table of live clusters has as well.
var (
	CCMRemoved = transform.Reason{
		Why: "No other manager runs the cloud controllers: new nodes keep their taint, and load balancers and routes do not change any more.", Source: aws.Source,
		Repair: "Restore the manager: its document, its values file, or the release of the chart.",
		Accept: "If the manager is installed from another place from now on; remove the acceptance once that is merged, and accept ccm-not-in-file.",
	}
	NotSettled = transform.Reason{
		Why:    "A stage on top of an unfinished change restarts machines twice, and a failed change hides which of the two failed.",
		Source: "rancher/rancher pkg/capr/planner/planner.go: status.appliedSpec",
		Repair: "Wait until the change is applied, or repair it.", Accept: "If the finding is about a machine that is known to be lost.",
	}
)

// CCMArgsUnsafe finds arguments that end a cloud-controller-manager.
var CCMArgsUnsafe = about(transform.Rule{ID: "ccm-args-unsafe", Severity: transform.Error, Guards: ChartRuns}.Because(
	"The manager is healthy as long as it waits, and exits at the moment it acquires the lease, which is the switch.", aws.Source, "Set --cloud-provider=aws and --configure-cloud-routes=false, or --cluster-cidr where the VPC has pod routes.", "If the log of a manager that holds its lease shows that it runs."),
	func(s Subject, rule string, found *transform.Findings) {
		for _, c := range s.Charts(rule) {
			if ccm.RoutesUnsafe(c.Args()) {
				found.Add(c.At(RoutesUnsafe, RoutesFix, chartArgs))
			}
			if c.LacksProvider() {
				found.Add(c.At("Helm replaces the chart's arguments with this list, and it has no --cloud-provider=aws", "add --cloud-provider=aws", chartArgs))
			}
			if c.LacksRights() {
				found.Add(c.At("the chart does not grant the permission to get serviceaccounts that is required by --use-service-account-credentials", "remove the argument, or grant the permission in clusterRoleRules", chartArgs))
			}
		}
		w, runs := Workload(s.Bundle())
		if runs && ccm.RoutesUnsafe(w.Args()) {
			found.Add(s.Bundle().Finding(w.Index, w.Container, RoutesUnsafe, RoutesFix))
		}
		if runs && w.WrongProvider() {
			found.Add(s.Bundle().Finding(w.Index, w.Container, "--cloud-provider is not aws, as the manager spells it: it exits when it starts", "write --cloud-provider=aws"))
		}
	})

// What to say of a manager whose routes are on without a range of addresses, which
// ccm.RoutesUnsafe finds.
const (
	RoutesUnsafe = "routes are on without --cluster-cidr: the manager exits as soon as it acquires the lease"
	RoutesFix    = "add --configure-cloud-routes=false, or --cluster-cidr where the VPC carries pod routes"
)

// WorkloadComponents is a manager that the manifests of a cluster run without the chart, as a component, which takes the place of a chart.
func WorkloadComponents(b leadermigration.Bundle, t transform.Target) []Component {
	w, runs := Workload(b)
	if !runs {
		return nil
	}
	placed := append(args.Place(w.Container.Get("command")), args.Place(w.Container.Get("args"))...)
	return []Component{{
		Name: leadermigration.CloudManager, Args: placed, Version: semver.MajorMinor(k8s.ParseImage(w.Container.StringAt("image")).Tag), Target: t,
		Place: func(at yamledit.Node, message, fix string) transform.Finding {
			return b.Finding(w.Index, at, message, fix)
		},
	}}
}

// Workload returns the cloud-controller-manager that manifests run without the chart.
func Workload(b leadermigration.Bundle) (ccm.Workload, bool) {
	docs, _ := b.Documents() // none that cannot be read
	return ccm.FindWorkload(docs)
}

// CCMFlagMissing finds a second owner of the cloud controllers: a chart, or a manager that manifests run without it, next to
// an in-tree kube-controller-manager.
var CCMFlagMissing = about(transform.Rule{ID: "ccm-flag-missing", Severity: transform.Error, Guards: TheChart,
	Doc: "A cloud-controller-manager without leader migration is in the file while the provider is still in-tree: two managers run the cloud controllers. A warning with --no-leader-migration."}.Because(
	"Two managers run the cloud controllers now: both create, change and delete load balancers and routes.", transform.SourceMigration, "Add --enable-leader-migration to the cloud-controller-manager, or remove it until its stage.", "With --no-leader-migration, where the switch follows at once."),
	func(s Subject, rule string, found *transform.Findings) {
		if !slices.ContainsFunc(s.Components(rule), func(c Component) bool { return c.Provider == inTree }) {
			return
		}
		for _, c := range s.Charts(rule) {
			if !c.Migrates() {
				SecondOwner(c.At("", "add --"+leaderFlag+"=true, as the stage install-ccm does", chartArgs), c.Target, found)
			}
		}
		if w, runs := Workload(s.Bundle()); runs && !w.Migrates() {
			SecondOwner(s.Bundle().Finding(w.Index, w.Container, "", "add --"+leaderFlag+"=true to its arguments, or remove it"), s.Chosen(), found)
		}
	})

// SecondOwner adds the finding about a place: a warning where two owners were chosen, or where only
// control planes that wait for their upgrade can be one of them.
func SecondOwner(f transform.Finding, t transform.Target, found *transform.Findings) {
	f.Message = "the cloud-controller-manager runs without leader migration while kube-controller-manager is in-tree: two managers own the cloud controllers"
	switch {
	case t.Situation == transform.Broken:
		f.Severity, f.Fix = transform.Warning, "apply the switch as soon as possible"
		f.Message = "the cloud-controller-manager runs without leader migration, and control planes that were not upgraded yet may still run the in-tree cloud controllers"
	case !t.Situation.HasInTreeProvider():
		return
	case t.NoLeaderMigration:
		f.Severity, f.Fix = transform.Warning, "apply the switch in the same change"
	}
	found.Add(f)
}

// CCMMinorSkew finds an image of the cloud-controller-manager that does not belong to
// the cluster's release. A format describes what of it a file shows.
var CCMMinorSkew = ofCharts(transform.Rule{ID: "ccm-minor-skew", Severity: transform.Error, Guards: slices.Concat(TheChart, []string{stages.UpgradeCCM})}.Because(
	"From 1.28 on the manager names its controllers differently: with the default configuration services and routes run in both managers.", aws.Source+"; "+transform.SourceConfiguration, "Use the image of the cluster's minor, or add --leader-migration-config generate.", "If each manager has a configuration with its own names."),
	minorSkew)

// Renamed reports whether a manager of a version takes part in the migration by the
// default configuration of 1.28 and later, whose controllers have other names than
// those of the in-tree manager: services and routes run in both.
func Renamed(list []args.Arg, version string) bool {
	return !args.Has(list, configFlag) && args.Enables(list, leaderFlag) && k8s.From(version, "v1.28")
}

// minorSkew lets an image stay one minor older for as long as it migrates: the switch may move the
// cluster, and the last stage moves the image.
func minorSkew(c Chart, found *transform.Findings) {
	minor := c.ImageMinor()
	minorsOlder := k8s.Minor(c.Release) - k8s.Minor(c.ImageTag())
	var message string
	switch {
	case minor == "" || args.Has(c.Args(), configFlag) || minorsOlder == 1 && c.Migrates() && c.External:
		return
	case Renamed(c.Args(), minor):
		message = "image " + minor + " has other controller names than the default configuration of leader migration, so services and routes run in both managers"
	case minorsOlder != 0:
		message = "image " + minor + " does not belong to Kubernetes " + semver.MajorMinor(c.Release)
	default:
		return
	}
	fix := c.setTag("use an image of the cluster's minor")
	if k8s.From(minor, "v1.28") {
		fix += ", or add --leader-migration-config generate"
	}
	f := found.Add(c.At(message, fix, "image", "tag"))
	if minorsOlder == 1 && c.External { // which kube-apiserver supports
		f.Severity = transform.Warning
		f.Fix += ", as " + stages.UpgradeCCM + " does with --target-version " + c.Release
	}
}

// CCMNotInFile is for an external cluster whose cloud-controller-manager the file does
// not show.
var CCMNotInFile = transform.Checked[[]Absent]{Rule: transform.Rule{ID: plan.RuleNotInFile, Severity: transform.Warning, Guards: TheChart,
	Doc: "The provider is external, and no cloud-controller-manager of AWS is in the file: it was installed in another way, or there is none. Until it is accepted, plan --exit-code gives 1."}.Because(
	"The cluster is external and the file shows no manager. If there is none, no new node is initialized and no load balancer is made.", aws.Source, "Check with `rke-lm verify` whether one runs; apply install-ccm with --stage if not.", "If the manager is installed from another place, and `rke-lm verify` finds it."),
	Check: func(list []Absent, found *transform.Findings) {
		const check = "check with rke-lm verify whether one runs, then --accept ccm-not-in-file"
		for _, a := range list {
			found.At(a.At, "the provider is external, and no cloud-controller-manager of AWS is in the file: it was installed in another way, or there is none",
				check+"; "+a.Or)
		}
	}}

// Absent is a cloud-controller-manager that the file does not show.
type Absent struct {
	At yamledit.Node // makes the cluster external
	Or string        // what else to do than to accept the rule
}

// CCMUnschedulable finds control planes on which the chart runs no pod.
var CCMUnschedulable = ofCharts(transform.Rule{ID: "ccm-unschedulable", Severity: transform.Error, Guards: ChartRuns,
	Doc: "With the node selector or the tolerations of the chart the cloud-controller-manager cannot be scheduled to the nodes of a class of control planes."}.Because(
	"The DaemonSet has no pod on the control planes, and `kubectl rollout status` still reports success.", "rancher/rancher pkg/capr/planner: taints without a value on control planes and etcd", "Use the selector and tolerations that the stage writes: operator Exists.", "If other machines than the file shows carry the manager."),
	func(c Chart, found *transform.Findings) {
		for _, class := range c.Nodes() {
			if why := c.Refuses(class); why != "" {
				found.Add(c.At("no pod of the manager runs on machines of class "+class.Name+": "+why,
					"select "+c.Label+`: "true", and tolerate every taint of control planes with operator: Exists`, c.Blamed(class)...))
				return
			}
		}
	})

// ChartUnpinned finds a chart that a new release changes. A format describes what of it a file
// shows.
var ChartUnpinned = ofCharts(transform.Rule{ID: "chart-unpinned", Severity: transform.Error, Guards: TheChart}.Because(
	"helm-controller installs the newest chart at each change, and with it another image and other defaults.", "k3s-io/helm-controller; "+aws.Source, "Set an exact version and image.tag.", "If the repository of charts has one version only."),
	TagUnpinned)

// TagUnpinned checks the image of one chart.
func TagUnpinned(c Chart, found *transform.Findings) {
	if semver.IsValid(c.ImageTag()) {
		return
	}
	fix := c.setTag("set image.tag to a release of the cluster's minor")
	found.Add(c.At("the image tag is not a release, so the default of the chart takes effect", fix, "image", "tag"))
}

// setTag is how to get the image of the cluster's minor, where one is known.
func (c Chart) setTag(otherwise string) string {
	if known := ccm.DefaultTag(c.Format, semver.MajorMinor(c.Release)); known != "" {
		return "set image.tag: " + known
	}
	return otherwise
}

// CloudConfigLost is for a provider's configuration, which an external provider
// ignores. A format describes where its own has one.
var CloudConfigLost = transform.Checked[[]Ignored]{Rule: transform.Rule{ID: "cloud-config-lost", Severity: transform.Error, Guards: TheSwitch}.Because(
	"An external kube-controller-manager does not read the file: load balancers then get default subnets, tags and security groups.", aws.Source, "Pass the content to the cloud-controller-manager with --cloud-config.", "If the chart has the content, or the content only repeats the defaults of the provider."),
	Check: func(list []Ignored, found *transform.Findings) {
		for _, c := range list {
			if c.Carried {
				found.At(c.At, "an external provider will ignore this configuration; the stages carry it to the cloud-controller-manager",
					"nothing, as long as the stages are applied in their order").Severity = transform.Note
			} else {
				found.At(c.At, "an external provider ignores this configuration"+c.Why,
					"carry its content to the cloud-controller-manager as --cloud-config, then --accept cloud-config-lost")
			}
		}
	}}

// Ignored is a provider's configuration.
type Ignored struct {
	At      yamledit.Node
	Carried bool   // by the stages
	Why     string // they do not carry it, after a comma; or ""
}
