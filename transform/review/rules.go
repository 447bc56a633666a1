// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// The rules of changes.
var (
	severalStages = transform.Rule{ID: "several-stages", Severity: transform.Error, Acceptable: true,
		Doc: "One change performs several stages. Each has to be rolled out and checked before the next one."}
	stageOutOfOrder = transform.Rule{ID: "stage-out-of-order", Severity: transform.Error, Acceptable: true,
		Doc: "A stage is performed while an earlier one is left to do."}
	stageWithUpgrade = transform.Rule{ID: "stage-with-upgrade", Severity: transform.Error, Acceptable: true,
		Doc: "A stage comes together with another Kubernetes release that `--target-version` did not ask for: machines restart for two reasons, and neither can be undone alone."}
	stageUndone = transform.Rule{ID: "stage-undone", Severity: transform.Error, Acceptable: true,
		Doc: "The change removes what a stage has made. Accept it for a rollback that is intended."}
	stageIncomplete = transform.Rule{ID: "stage-incomplete", Severity: transform.Error, Acceptable: true,
		Doc: "The change edits what stages edit, and the result is that of no stage, for example a part of the switch."}
	stageDiffers = transform.Rule{ID: "stage-differs", Severity: transform.Warning,
		Doc: "The result of a stage is there, and written differently than rke-lm plans it with the choices of the base."}
	providerLost = transform.Rule{ID: "provider-lost", Severity: transform.Error, Acceptable: true,
		Doc: "The cluster can be migrated before the change, and not after it: the provider was removed, or replaced by another one than aws or external. Or control planes become external before the stages that come first, and no cloud-controller-manager is in the file."}
	ccmRemoved = transform.Rule{ID: "ccm-removed", Severity: transform.Error, Acceptable: true,
		Doc: "The cloud-controller-manager is taken out of the files of a cluster that has no other manager: its document, its values file, or additionalManifest. Before the switch it is stage-undone. Accept it in the base where the manager moves to a place that is not reviewed; ccm-not-in-file does not accept it."}
	managerChanged = transform.Rule{ID: "manager-changed", Severity: transform.Error, Acceptable: true,
		Doc: "The cloud-controller-manager changes, without a stage, in more than its labels, resources, log level, and the version of its chart or image. Whether it still starts and does the same is not known."}
	planLost = transform.Rule{ID: "plan-lost", Severity: transform.Error, Acceptable: true,
		Doc: "The migration can be planned before the change, and not after it; or the change adds a cluster that cannot be read."}
	flagOverridden = transform.Rule{ID: "flag-overridden", Severity: transform.Error, Acceptable: true,
		Doc: "A list of arguments replaces another list, as machineSelectorConfig does, and machines lose arguments that they had."}
	editWithStage = transform.Rule{ID: "edit-with-stage", Severity: transform.Error, Acceptable: true,
		Doc: "A stage comes together with an edit that belongs to no stage: the two cannot be rolled out, checked and undone separately."}
	editWithoutStage = transform.Rule{ID: "edit-without-stage", Severity: transform.Warning,
		Doc: "The change is no stage, and machines get another configuration. It is a note where it is outside of the configuration of machines."}
	acceptanceAdded = transform.Rule{ID: "acceptance-added", Severity: transform.Error,
		Doc: "The change accepts a rule in .rke-lm.yaml, and changes clusters as well. The acceptance does not count until it is merged; merge it first. It is a warning in a separate pull request."}
	configurationChanged = transform.Rule{ID: "configuration-changed", Severity: transform.Error, Acceptable: true,
		Doc: "The change sets or removes a key of a .rke-lm.yaml, and changes clusters as well. Before it is merged the target branch's value counts. It is a warning in a separate pull request."}
	clusterRemoved = transform.Rule{ID: "cluster-removed", Severity: transform.Error, Acceptable: true,
		Doc: "A cluster gets another name, or its file a name that is not read, such as `.bak`: the cluster is deleted, with its machines, which the change does not show. A warning if the change removes its documents without a replacement, as for a decommissioned cluster, and if it moves out of the reviewed paths."}
	clusterAdded  = rules.DuplicateCluster.WithDoc("The change adds a cluster that another file describes with the same namespace and name. That file can be in any folder, and the change need not touch it. Or it moves files, or makes one root of folders by a `kustomization.yaml` or a `fleet.yaml`, so that two such places are applied together. Accept it in the base for clusters of several Ranchers.")
	stagesUnknown = transform.Rule{ID: "stages-unknown", Severity: transform.Warning, Acceptable: true,
		Doc: "The migration could not be planned before the change either, so its stages are not recognized. It shows what machines get. An error if the change edits a line about the provider, the arguments of a manager, the cloud-controller-manager or the version."}
	formNotRead = transform.Rule{ID: "form-not-read", Severity: transform.Warning, Acceptable: true,
		Doc: "A file describes a cluster in a form that is not read: Terraform, a configuration file of RKE2, CAPRKE2, a Bundle of Fleet, a Kustomization of Flux, Ansible, templates, scripts, dumps of live clusters. A note in `plan`. In `review` an error if the change renames or removes the file, or touches a line about the provider, manager arguments or the version."}
	contentUnknown = transform.Rule{ID: "content-unknown", Severity: transform.Error, Acceptable: true,
		Doc: "The change adds, moves or removes a symbolic link or a submodule, or replaces a file by one. What it leads to is not reviewed. Or a link leads to a file that the change edits outside of the reviewed paths."}
	overlayChanged = transform.Rule{ID: "overlay-changed", Severity: transform.Error, Acceptable: true,
		Doc: "The change adds, edits or removes a kustomization, a patch or an overlay of Fleet. A cluster gets other values than its file shows, also if that file does not change. changed-by-overlay does not accept it."}
	excludedChange = transform.Rule{ID: "excluded-change", Severity: transform.Error, Acceptable: true,
		Doc: "A pattern of `exclude` leaves out files that the change touches. An error if clusters in them change and the pattern is that of `--exclude`, which a workflow in the change can set. A warning if it is that of the configuration, which counts in the base. A note if no cluster changes."}
	listedFile = transform.Rule{ID: "saved-plan-differs", Severity: transform.Error,
		Doc: "A plan.json that the change adds or edits lists a file that is none of a plan of a cluster in the reviewed paths: the file differs from what `plan --out` writes with the choices in that plan.json, or the cluster is described nowhere else. Files that a plan.json lists are read as no clusters."}
	baseUnread = transform.Rule{ID: "base-unread", Severity: transform.Warning,
		Doc: "A document cannot be read as it is in the base: its clusters count as new."}
)

// Rules are those of changes; --accept on the command line or in the configuration of the
// base accepts some.
func Rules() []transform.Rule {
	return []transform.Rule{
		severalStages, stageOutOfOrder, stageWithUpgrade, stageUndone, stageIncomplete, stageDiffers,
		providerLost, ccmRemoved, managerChanged, planLost, flagOverridden, editWithStage, editWithoutStage,
		acceptanceAdded, configurationChanged, clusterRemoved, clusterAdded, stagesUnknown, formNotRead, contentUnknown,
		overlayChanged, excludedChange, listedFile, baseUnread,
	}
}
