// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/rules"
)

// ownStages is where the order of the stages is described.
const ownStages = "docs/stages.md: the stages, their checks and their undo"

// The rules of changes.
var (
	severalStages = transform.Rule{ID: "several-stages", Severity: transform.Error,
		Doc: "One change performs several stages. Each has to be rolled out and checked before the next one."}.Because(
		"All of them restart machines at once, none is checked alone, and the cloud controllers can run in both managers.", ownStages, "Merge one stage, roll it out, check it, and then merge the next.", "If the cluster does not exist yet, or has no workload.")
	stageOutOfOrder = transform.Rule{ID: "stage-out-of-order", Severity: transform.Error,
		Doc: "A stage is performed while an earlier one is left to do."}.Because(
		"The stage depends on the earlier one: without it, no manager or two managers run the cloud controllers.", ownStages, "Apply the earlier stage first.", "If the earlier stage was made in a place that the file does not show.")
	stageWithUpgrade = transform.Rule{ID: "stage-with-upgrade", Severity: transform.Error,
		Doc: "A stage comes together with another Kubernetes release that `--target-version` did not ask for: machines restart for two reasons, and neither can be undone alone."}.Because(
		"Machines restart for two reasons, and neither can be undone alone.", ownStages, "Split the change, or choose --target-version, which moves the release in the switch.", "If the release of the file only catches up with the cluster.")
	stageUndone = transform.Rule{ID: "stage-undone", Severity: transform.Error,
		Doc: "The change removes what a stage has made. Accept it for a rollback that is intended."}.Because(
		"The next stage would start from a wrong state.", ownStages, "Restore the stage, or undo it with rke-lm apply --undo.", "For a rollback that is intended.")
	stageIncomplete = transform.Rule{ID: "stage-incomplete", Severity: transform.Error,
		Doc: "The change edits what stages edit, and the result is that of no stage, for example a part of the switch."}.Because(
		"A part of a stage is the state that no check describes: a manager can stop, or two can run.", ownStages, "Apply the whole stage with rke-lm apply.", "If the rest is made by another program.")
	stageDiffers = transform.Rule{ID: "stage-differs", Severity: transform.Warning,
		Doc: "The result of a stage is there, and written differently than rke-lm plans it with the choices of the base."}.Because(
		"A later stage and its undo expect the form that is planned, and can refuse the file.", ownStages, "Apply the stage with rke-lm apply, or set the choices that were used in .rke-lm.yaml.", "")
	providerLost = transform.Rule{ID: "provider-lost", Severity: transform.Error,
		Doc: "The cluster can be migrated before the change, and not after it: the provider was removed, or replaced by another one than aws or external. Or control planes become external before the stages that come first, and no cloud-controller-manager is in the file."}.Because(
		"No manager runs the cloud controllers. Without a provider RKE2 starts its own stub, and new nodes get the provider ID rke2://, which cannot be changed.", transform.SourceNodeNames, "Set the provider to external in the stage of the switch.", "If the cluster leaves AWS.")
	ccmRemoved = transform.Rule{ID: "ccm-removed", Severity: transform.Error,
		Doc: "The cloud-controller-manager is taken out of the files of a cluster that has no other manager: its document, its values file, or additionalManifest. Before the switch it is stage-undone. Accept it in the base where the manager moves to a place that is not reviewed; ccm-not-in-file does not accept it.", Reason: rules.CCMRemoved}
	managerChanged = transform.Rule{ID: "manager-changed", Severity: transform.Error,
		Doc: "The cloud-controller-manager changes, without a stage, in more than its labels, resources, log level, and the version of its chart or image. Whether it still starts and does the same is not known."}.Because(
		"No other manager runs the cloud controllers: if this one does not start, runs elsewhere, or runs without a controller, new nodes keep their taint and load balancers do not change.", transform.SourceAWS, "Check the change with helm template, or on a test cluster.", "If the change was reviewed by someone who knows the manager.")
	planLost = transform.Rule{ID: "plan-lost", Severity: transform.Error,
		Doc: "The migration can be planned before the change, and not after it; or the change adds a cluster that cannot be read."}.Because(
		"After the change no stage can be planned, applied or undone.", ownStages, "Correct what the plan of the changed file reports.", "If the cluster is not migrated with rke-lm any more.")
	flagOverridden = transform.Rule{ID: "flag-overridden", Severity: transform.Error,
		Doc: "A list of arguments replaces another list, as machineSelectorConfig does, and machines lose arguments that they had."}.Because(
		"The machines lose arguments without an error, for example those that a stage added.", transform.SourcePlanner, "Repeat the arguments in the later list, or move them to one place.", "If the machines are meant to lose them.")
	editWithStage = transform.Rule{ID: "edit-with-stage", Severity: transform.Error,
		Doc: "A stage comes together with an edit that belongs to no stage: the two cannot be rolled out, checked and undone separately."}.Because(
		"If something breaks, it is unknown which of the two is the cause, and the undo of the stage leaves the other edit.", ownStages, "Split the change.", "If the edit is needed by the stage, such as a label that its selector uses.")
	editWithoutStage = transform.Rule{ID: "edit-without-stage", Severity: transform.Warning,
		Doc: "The change is no stage, and machines get another configuration. It is a note where it is outside of the configuration of machines."}.Because(
		"Machines get another configuration and restart.", ownStages, "Nothing, if it is intended.", "")
	acceptanceAdded = transform.Rule{ID: "acceptance-added", Severity: transform.Error,
		Doc: "The change accepts a rule in .rke-lm.yaml, and changes clusters as well. The acceptance does not count until it is merged; merge it first. It is a warning in a separate pull request."}.Because(
		"A change that accepts its own errors needs no review any more.", "docs/review.md", "Merge the acceptance in a separate pull request, which someone approves.", "")
	configurationChanged = transform.Rule{ID: "configuration-changed", Severity: transform.Error,
		Doc: "The change sets or removes a key of a .rke-lm.yaml, and changes clusters as well. Before it is merged the target branch's value counts. It is a warning in a separate pull request."}.Because(
		"A key such as chart-repo, distro or exclude changes what the next run does or reads, in files that the change does not show.", "docs/review.md", "Merge it in a separate pull request, which someone approves.", "The key belongs to the stage, such as end-state in the change that begins a migration.")
	clusterRemoved = transform.Rule{ID: "cluster-removed", Severity: transform.Error,
		Doc: "A cluster gets another name, or its file a name that is not read, such as `.bak`: the cluster is deleted, with its machines, which the change does not show. A warning if the change removes its documents without a replacement, as for a decommissioned cluster, and if it moves out of the reviewed paths."}.Because(
		"If Fleet or another program applies the folder, a cluster that is gone from it is deleted, and its machines with it.", "rancher/fleet docs: removed resources", "Keep the document, its name and the name of its file until the cluster is deleted on purpose.", "If the cluster is replaced by the one with the new name, on purpose.")
	clusterAdded  = rules.DuplicateCluster.WithDoc("The change adds a cluster that another file describes with the same namespace and name. That file can be in any folder, and the change need not touch it. Or it moves files, or makes one root of folders by a `kustomization.yaml` or a `fleet.yaml`, so that two such places are applied together. Accept it in the base for clusters of several Ranchers.")
	stagesUnknown = transform.Rule{ID: "stages-unknown", Severity: transform.Warning,
		Doc: "The migration could not be planned before the change either, so its stages are not recognized. It shows what machines get. An error if the change edits a line about the provider, the arguments of a manager, the cloud-controller-manager or the version."}.Because(
		"Without a plan the change is only compared, not recognized.", ownStages, "Correct what the plan of the base reports.", "If the change was reviewed in another way, such as rke-lm explain of both versions.")
	formNotRead = transform.Rule{ID: "form-not-read", Severity: transform.Warning,
		Doc: "A file describes a cluster in a form that is not read: Terraform, a configuration file of RKE2, CAPRKE2, a Bundle of Fleet, a Kustomization of Flux, Ansible, templates, scripts, dumps of live clusters. A note in `plan`. In `review` an error if the change renames or removes the file, or touches a line about the provider, manager arguments or the version."}.Because(
		"Nothing of the file is checked: a change of it can take away the provider.", "the file", "Make the change as a stage of the cluster that is made of the file, and plan that.", "If the change was checked in another way.")
	contentUnknown = transform.Rule{ID: "content-unknown", Severity: transform.Error,
		Doc: "The change adds, moves or removes a symbolic link or a submodule, or replaces a file by one. What it leads to is not reviewed. Or a link leads to a file that the change edits outside of the reviewed paths."}.Because(
		"kubectl and Fleet follow links, and a submodule has commits of another repository: clusters can change without a line of them in the change.", "docs/review.md", "Replace the link or the submodule by the files.", "If what it leads to was reviewed in another way.")
	overlayChanged = transform.Rule{ID: "overlay-changed", Severity: transform.Error,
		Doc: "The change adds, edits or removes a kustomization, a patch or an overlay of Fleet. A cluster gets other values than its file shows, also if that file does not change. changed-by-overlay does not accept it."}.Because(
		"What reaches the cluster is not what its file shows: a patch can take away the provider.", "kubernetes-sigs/kustomize: patches", "Make the change in the file of the cluster, or compare the output of kubectl kustomize.", "If the output of kubectl kustomize was reviewed.")
	excludedChange = transform.Rule{ID: "excluded-change", Severity: transform.Error,
		Doc: "A pattern of `exclude` leaves out files that the change touches. An error if clusters in them change and the pattern is that of `--exclude`, which a workflow in the change can set. A warning if it is that of the configuration, which counts in the base. A note if no cluster changes."}.Because(
		"A file that is left out is not reviewed, whatever the change does to it.", "docs/review.md", "Remove the pattern, or set it in the configuration of the base.", "If the files were reviewed in another way.")
	listedFile = transform.Rule{ID: "saved-plan-differs", Severity: transform.Error,
		Doc: "A plan.json that the change adds or edits lists a file that is none of a plan of a cluster in the reviewed paths: the file differs from what `plan --out` writes with the choices in that plan.json, or the cluster is described nowhere else. Files that a plan.json lists are read as no clusters."}.Because(
		"Files that a plan.json lists are read as no clusters, so a plan.json could hide a cluster from every verb.", "the plan folder in the change", "Plan the cluster again with `plan --out`, or remove the folder from the change.", "")
	baseUnread = transform.Rule{ID: "base-unread", Severity: transform.Warning,
		Doc: "A document cannot be read as it is in the base: its clusters count as new."}.Because(
		"What cannot be read cannot be compared, so that nothing is checked for the clusters of that document.", "the document in the base", "Correct the document in the base first.", "")
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
