// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

// ownStages is where the order of the stages is described.
const ownStages = "docs/stages.md: the stages, their checks and their undo"

// changeReasons are those of rules about changes in git.
var changeReasons = []Reason{
	{"acceptance-added", "A change that accepts its own errors needs no review any more.", "docs/review.md", "Merge the acceptance in a separate pull request, which someone approves.", ""},
	{"base-unread", "What cannot be read cannot be compared, so that nothing is checked for the clusters of that document.", "the document in the base", "Correct the document in the base first.", ""},
	{"ccm-removed", "No other manager runs the cloud controllers: new nodes keep their taint, and load balancers and routes do not change any more.", awsProvider, "Restore the manager: its document, its values file, or the release of the chart.",
		"If the manager is installed from another place from now on; remove the acceptance once that is merged, and accept ccm-not-in-file."},
	{"cluster-removed", "If Fleet or another program applies the folder, a cluster that is gone from it is deleted, and its machines with it.", "rancher/fleet docs: removed resources", "Keep the document, its name and the name of its file until the cluster is deleted on purpose.", "If the cluster is replaced by the one with the new name, on purpose."},
	{"configuration-changed", "A key such as chart-repo, distro or exclude changes what the next run does or reads, in files that the change does not show.", "docs/review.md", "Merge it in a separate pull request, which someone approves.", "The key belongs to the stage, such as end-state in the change that begins a migration."},
	{"content-unknown", "kubectl and Fleet follow links, and a submodule has commits of another repository: clusters can change without a line of them in the change.", "docs/review.md", "Replace the link or the submodule by the files.", "If what it leads to was reviewed in another way."},
	{"edit-with-stage", "If something breaks, it is unknown which of the two is the cause, and the undo of the stage leaves the other edit.", ownStages, "Split the change.", "If the edit is needed by the stage, such as a label that its selector uses."},
	{"edit-without-stage", "Machines get another configuration and restart.", ownStages, "Nothing, if it is intended.", ""},
	{"excluded-change", "A file that is left out is not reviewed, whatever the change does to it.", "docs/review.md", "Remove the pattern, or set it in the configuration of the base.", "If the files were reviewed in another way."},
	{"flag-overridden", "The machines lose arguments without an error, for example those that a stage added.", planner, "Repeat the arguments in the later list, or move them to one place.", "If the machines are meant to lose them."},
	{"form-not-read", "Nothing of the file is checked: a change of it can take away the provider.", "the file", "Make the change as a stage of the cluster that is made of the file, and plan that.", "If the change was checked in another way."},
	{"manager-changed", "No other manager runs the cloud controllers: if this one does not start, runs elsewhere, or runs without a controller, new nodes keep their taint and load balancers do not change.", awsProvider, "Check the change with helm template, or on a test cluster.", "If the change was reviewed by someone who knows the manager."},
	{"overlay-changed", "What reaches the cluster is not what its file shows: a patch can take away the provider.", "kubernetes-sigs/kustomize: patches", "Make the change in the file of the cluster, or compare the output of kubectl kustomize.", "If the output of kubectl kustomize was reviewed."},
	{"plan-lost", "After the change no stage can be planned, applied or undone.", ownStages, "Correct what the plan of the changed file reports.", "If the cluster is not migrated with rke-lm any more."},
	{"provider-lost", "No manager runs the cloud controllers. Without a provider RKE2 starts its own stub, and new nodes get the provider ID rke2://, which cannot be changed.", nameSource, "Set the provider to external in the stage of the switch.", "If the cluster leaves AWS."},
	{"saved-plan-differs", "Files that a plan.json lists are read as no clusters, so a plan.json could hide a cluster from every verb.", "the plan folder in the change", "Plan the cluster again with `plan --out`, or remove the folder from the change.", ""},
	{"several-stages", "All of them restart machines at once, none is checked alone, and the cloud controllers can run in both managers.", ownStages, "Merge one stage, roll it out, check it, and then merge the next.", "If the cluster does not exist yet, or has no workload."},
	{"stage-differs", "A later stage and its undo expect the form that is planned, and can refuse the file.", ownStages, "Apply the stage with rke-lm apply, or set the choices that were used in .rke-lm.yaml.", ""},
	{"stage-incomplete", "A part of a stage is the state that no check describes: a manager can stop, or two can run.", ownStages, "Apply the whole stage with rke-lm apply.", "If the rest is made by another program."},
	{"stage-out-of-order", "The stage depends on the earlier one: without it, no manager or two managers run the cloud controllers.", ownStages, "Apply the earlier stage first.", "If the earlier stage was made in a place that the file does not show."},
	{"stage-undone", "The next stage would start from a wrong state.", ownStages, "Restore the stage, or undo it with rke-lm apply --undo.", "For a rollback that is intended."},
	{"stage-with-upgrade", "Machines restart for two reasons, and neither can be undone alone.", ownStages, "Split the change, or choose --target-version, which moves the release in the switch.", "If the release of the file only catches up with the cluster."},
	{"stages-unknown", "Without a plan the change is only compared, not recognized.", ownStages, "Correct what the plan of the base reports.", "If the change was reviewed in another way, such as rke-lm explain of both versions."},
}
