// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/live/observation"
	"github.com/rke-lm/rke-lm/transform/live/ownership"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// reached goes by the arguments of the managers, and where those of
// kube-controller-manager cannot be read, by who holds the migration lease.
func (j *evaluation) reached() string {
	kube, cloud := j.of(observation.KubeManager), j.cloud()
	external, migrates := !j.any(observation.KubeManager, hasLoops), j.any(observation.KubeManager, hasFlag)
	if len(kube) == 0 {
		owner := j.lease().Owner
		external, migrates = owner == observation.CloudManager, owner == observation.KubeManager
	}
	switch {
	case len(cloud) > 0 && external && !slices.ContainsFunc(cloud, hasFlag):
		return stages.DisableLeaderMigration
	case len(cloud) > 0 && external:
		return stages.SwitchToExternal
	case len(cloud) > 0 && migrates:
		return stages.InstallCCM
	case migrates:
		return stages.EnableLeaderMigration
	case j.granted():
		return stages.GrantMigrationLease
	}
	return ""
}

// cloud returns what the pods of the cloud-controller-manager do, and what those
// would do that its DaemonSets make.
func (j *evaluation) cloud() []ownership.Process {
	list := j.of(observation.CloudManager)
	for _, d := range j.DaemonSets {
		list = append(list, ownership.Read(template(d)))
	}
	return list
}

// template is what a DaemonSet makes pods of.
func template(d observation.DaemonSet) observation.Manager {
	return observation.Manager{Component: observation.CloudManager, Image: d.Image, Args: d.Args}
}

// granted reports whether kube-controller-manager may lock the migration lease.
func (j *evaluation) granted() bool {
	asked := false
	for _, r := range j.Reviews {
		if r.User == leadermigration.ManagerUser {
			if !r.Allowed {
				return false
			}
			asked = true
		}
	}
	return asked
}

// reverted needs evidence that a stage was applied once: a snapshot, or what a
// stage leaves behind in the leases.
func (j *evaluation) reverted() []transform.Finding {
	now := j.reached()
	before, why := "", ""
	switch {
	case j.Before != nil && j.Before.Reached != "":
		before, why = j.Before.Reached, "the snapshot of "+j.Before.Taken.UTC().Format("2006-01-02 15:04")+" shows it"
	case j.Stage != "":
		before, why = lastShown(j.Stage), "you asked for "+j.Stage
	case !j.Partial:
		before, why = j.leftBehind()
	}
	names := stages.Names()
	if slices.Index(names, before) <= slices.Index(names, now) || len(j.of(observation.KubeManager)) == 0 {
		return nil
	}
	return []transform.Finding{found(leasePath(j.lease().Name), "the cluster shows no result of "+before+" ("+why+")",
		"look who wrote the cluster last (Rancher's interface, Fleet, Terraform, an old branch), and apply the stage where the YAML is kept")}
}

// lastShown returns the last stage up to one whose result can be seen on the
// managers.
func lastShown(stage string) string {
	switch stage {
	case stages.CordonControlPlane:
		return stages.InstallCCM
	case stages.UncordonControlPlane:
		return stages.SwitchToExternal
	case stages.VerifyProviderIDs:
		return stages.SwitchToExternal
	}
	return stage
}

// leftBehind finds a migration lease that somebody held although no manager has
// the flag and kube-controller-manager is in-tree.
func (j *evaluation) leftBehind() (stage, why string) {
	lease := j.lease()
	if lease.Holder == "" || slices.ContainsFunc(j.processes, hasFlag) || !j.any(observation.KubeManager, hasLoops) {
		return "", ""
	}
	return stages.EnableLeaderMigration, "the lease " + lease.Name + " was held once"
}
