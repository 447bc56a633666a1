// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// resultRules are about the results of stages, and of changes by Rancher.
var resultRules = []rule{
	// It compares what the managers show with what they have to.
	{Rule: transform.Rule{ID: idStageNotReached, Severity: transform.Error, Guards: always,
		Doc: "The arguments of the managers and the holder of the migration lease do not show the result of the stage. Or they still show that of a stage that was undone."}.Because(
		"The managers still run with the old arguments, or have not acquired the lease.", transform.SourceMigration, "Wait for the rollout; then check the arguments of the managers.", "If the managers are known to be as the stage wants, and the observation is old."),
		Check: func(j *evaluation, found *transform.Findings) {
			shown := j.shown()
			within, below := j.Check.Within(shown)
			message := "the managers do not show the result of " + j.Check.AtLeast + " yet"
			switch {
			case within || !j.Saw(observed.Pods):
				return
			case !below:
				message = "the managers still show the result of " + shown
			}
			found.On("kube-system/pods", message, "check the arguments of both managers, and which of their pods were not replaced")
		}, Lacks: managersSeen, Needed: ofStages(stages.ShownByPods())},
	// It needs evidence that a stage was applied once: a snapshot, or what a
	// stage leaves in the leases.
	{Rule: transform.Rule{ID: "reverted", Severity: transform.Warning, Guards: always,
		Doc: "The result of an applied stage is not visible any more: the cluster was changed."}.Because(
		"Another program or a person undid the stage; the next one would start from a wrong state.", "the object's managedFields", "Find out who changed it, and apply the stage again.", "If it was undone on purpose."),
		Check: func(j *evaluation, found *transform.Findings) {
			now := j.reached()
			before, why := "", ""
			switch {
			case j.Before != nil && j.Before.Reached != "":
				before, why = j.Before.Reached, "the snapshot of "+j.Before.Taken.UTC().Format("2006-01-02 15:04")+" shows it"
			case j.Check.Stage != "":
				return // which is to show: stage-not-reached says so
			case !j.Partial:
				before, why = j.remains()
			}
			names := stages.Names()
			if slices.Index(names, before) <= slices.Index(names, now) || len(j.of(observed.KubeManager)) == 0 {
				return
			}
			found.On(leasePath(j.lease().Name), "the cluster shows no result of "+before+" ("+why+")",
				"check what changed the cluster last (Rancher's UI, Fleet, Terraform, an old branch), and apply the stage to the source of the YAML")
		}, Lacks: seen(observed.Pods)},
	// It uses Rancher's own objects; the conditions of a Cluster are
	// copies of theirs, and lag.
	{Rule: transform.Rule{ID: "cluster-not-settled", Severity: transform.Error, Guards: always,
		Doc: "On Rancher's own cluster: Rancher or a machine has not applied the last change of a cluster.", Reason: rules.NotSettled},
		Check: func(j *evaluation, found *transform.Findings) {
			const fix = "wait; if it does not settle, Rancher's UI shows the machine that is stuck"
			for _, c := range j.ControlPlanes {
				var open []string
				if !c.Observed {
					open = append(open, "its last change is not observed yet")
				}
				if !c.Applied {
					open = append(open, "the spec differs from the applied spec")
				}
				open = append(open, lists.Map(c.NotTrue, func(name string) string { return "the condition " + name + " is not True" })...)
				if len(open) > 0 {
					found.On(c.Namespace+"/rkecontrolplanes/"+c.Name, "the cluster is not settled: "+strings.Join(open, ", "), fix)
				}
			}
			for _, p := range j.MachinePlans {
				if !p.Applied {
					found.On(p.Namespace+"/secrets/"+p.Name, "the machine does not run its last plan yet", fix)
				}
			}
		}, Lacks: ranchers},
}

// reached is the last stage that the managers show.
func (j *evaluation) reached() string { return stages.Reached(j.managers()) }

// managers are known by their arguments, and where those of kube-controller-manager cannot
// be read, by who holds the migration lease.
func (j *evaluation) managers() stages.Managers {
	cloud := j.cloud()
	m := stages.Managers{
		Granted: j.granted(), Cloud: len(cloud) > 0, CloudFlag: slices.ContainsFunc(cloud, hasFlag),
		Flag: j.any(observed.KubeManager, hasFlag), External: !j.any(observed.KubeManager, hasLoops),
	}
	if len(j.of(observed.KubeManager)) == 0 {
		owner := j.lease().Owner
		m.Flag, m.External = owner == observed.KubeManager, owner == observed.CloudManager
	}
	return m
}

const idStageNotReached = "stage-not-reached"

// shown is the last stage that shows. Where kube-controller-manager is no pod, as with RKE,
// it shows by the migration lease alone. Once no one needs that, the cloud-controller-manager
// without the flag is what is left to see, and that the other one is external is what RKE
// applied; and the record of a dead holder is of someone who runs no more.
func (j *evaluation) shown() string {
	m := j.managers()
	if !slices.ContainsFunc(j.Managers, func(m observed.Manager) bool { return m.Component == observed.KubeManager }) && !m.CloudFlag {
		switch {
		case j.Check.External && m.Cloud:
			m.External = true
		case j.lease().Life == observed.Dead:
			m.Flag, m.External = false, false
		}
	}
	return stages.Reached(m)
}

// cloud returns what the pods of the cloud-controller-manager do, and what those
// would do that its DaemonSets make.
func (j *evaluation) cloud() []Process {
	return append(j.of(observed.CloudManager), Processes(lists.Map(j.DaemonSets, template))...)
}

// template is what a DaemonSet makes pods of.
func template(d observed.DaemonSet) observed.Manager {
	return observed.Manager{Component: observed.CloudManager, Image: d.Image, Args: d.Args}
}

// granted reports whether kube-controller-manager may lock the migration lease.
func (j *evaluation) granted() bool {
	asked := lists.Where(j.Reviews, func(r observed.AccessReview) bool { return r.User == leadermigration.ManagerUser })
	return len(asked) > 0 && !slices.ContainsFunc(asked, func(r observed.AccessReview) bool { return !r.Allowed })
}

// remains finds a migration lease that someone held although no manager has
// the flag and kube-controller-manager is in-tree.
func (j *evaluation) remains() (stage, why string) {
	lease := j.lease()
	if lease.Holder == "" || slices.ContainsFunc(j.processes, hasFlag) || !j.any(observed.KubeManager, hasLoops) {
		return "", ""
	}
	return stages.EnableLeaderMigration, "the lease " + lease.Name + " was held before"
}

// Outline is a cluster in a few words; "" means unknown.
type Outline struct {
	Format   string // the name of a format, or k3s
	Provider string // aws or external
	Reached  string // the last stage whose result shows
	Progress plan.Progress
}

// Outlined describes a cluster, which is of the first format that it looks like.
func Outlined(o *observed.Observation, formats []transform.Format) Outline {
	j := newEvaluation(o, Choice{})
	out := Outline{Reached: j.reached()}
	kube := j.of(observed.KubeManager)
	traits := transform.Traits{Version: o.Version, ManagerPods: len(kube) > 0, NodeLabel: func(label string) bool {
		return slices.ContainsFunc(o.Nodes, func(n observed.Node) bool { _, has := n.Labels[label]; return has })
	}}
	if strings.Contains(o.Version, "+k3s") {
		out.Format = "k3s"
	} else if i := slices.IndexFunc(formats, func(d transform.Format) bool { return d.Live.Shows(traits) }); i >= 0 {
		out.Format = formats[i].Name
	}
	switch {
	case len(kube) == 0:
		return out
	case j.any(observed.KubeManager, hasLoops):
		out.Provider = aws.Name
	default:
		out.Provider = "external"
	}
	out.Progress = j.progress()
	return out
}

// progress reports what the managers show. From 1.27 on a kube-controller-manager without a
// provider, and no other manager, is a cluster without one; an external one waits for its
// cloud-controller-manager.
func (j *evaluation) progress() plan.Progress {
	m := j.managers()
	late := k8s.From(j.Observation.Version, aws.FirstWithout)
	switch {
	case !m.External && late:
		return plan.ProgressBroken(j.Observation.Version)
	case !m.External && (m.Flag || m.Cloud), m.External && m.CloudFlag:
		return plan.ProgressMigrating
	case !m.External:
		return plan.ProgressInTree
	case late && !m.Cloud && !j.any(observed.KubeManager, Process.Named):
		return plan.ProgressNone
	}
	return plan.ProgressExternal
}
