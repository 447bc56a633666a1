// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// Change is one that is to be made, and what was seen of its cluster on Rancher's own: objects in
// JSON as the server gave them; nil where there is none.
type Change struct {
	Title          string
	Object         []byte
	ControlPlane   []byte // its RKEControlPlane
	Infrastructure []byte // its Cluster of Cluster API
	// Progress is that of the object as it is; nil where no one looked.
	Progress *Progress
	Snapshot bool // Rancher is to take a snapshot of etcd
	Release  *Release
}

// The rules.
const (
	ManagedElsewhere = "managed-elsewhere"
	deleting         = "cluster-deleting"
	paused           = "cluster-paused"
	pauseNotObeyed   = "pause-not-obeyed"
	NotSettled       = "cluster-not-settled"
	noSnapshot       = "etcd-snapshot-impossible"
	ValuesReplaced   = "release-values-replaced"
	valuesNotInFile  = "release-values-not-in-file"
)

type rule = transform.Checked[Change]

// table is the one table of them.
func table() []rule {
	return []rule{
		{Rule: transform.Rule{ID: deleting, Severity: transform.Error, Guards: stages.Names(),
			Doc: "The cluster is being deleted."}.Because(
			"What is changed is deleted.", "kubernetes docs: finalizers", "Use another cluster.", ""),
			Check: func(s Change, found *transform.Findings) {
				if headOf(s.Object).DeletionTimestamp != nil {
					found.On(s.at("metadata.deletionTimestamp"), "the cluster is being deleted", "leave it")
				}
			}},
		{Rule: transform.Rule{ID: NotSettled, Severity: transform.Error, Guards: stages.Names(),
			Doc: "Rancher or a machine has not applied the last change of the cluster. If you accept the rule, it is not checked, and its permissions are not needed.", Reason: rules.NotSettled},
			Check: func(s Change, found *transform.Findings) {
				switch {
				case s.Progress == nil || s.Progress.Done:
				case s.Progress.Failed != "":
					found.On(s.at(""), "its last change failed: "+s.Progress.Failed, "repair it first, or accept it with --accept "+NotSettled)
				default:
					found.On(s.at(""), "its last change is not applied: "+s.Progress.Waiting, "wait until it is applied, and run the command again, or accept it with --accept "+NotSettled)
				}
			}},
		// It reports what Rancher's planner obeys before it gives machines new plans
		// (rancher pkg/capr/planner, Process; cluster-api util/annotations, IsPaused).
		{Rule: transform.Rule{ID: paused, Severity: transform.Error, Guards: stages.Names(),
			Doc: "The cluster is paused, by spec.paused of its Cluster API Cluster or by the annotation cluster.x-k8s.io/paused of its RKEControlPlane: Rancher would not apply a change to its machines."}.Because(
			"Rancher stores the change and applies it to no machine.", "rancher/rancher pkg/capr/planner: spec.paused", "Ask who paused it, and unpause it.", ""),
			Check: func(s Change, found *transform.Findings) {
				const notBrought, fix = ": Rancher would not apply a change to the machines", "ask who paused it to resume it, and run the command again"
				if headOf(s.Infrastructure).Spec.Paused {
					found.On(s.at("spec.paused"), itsInfrastructure+" is paused"+notBrought, fix)
				} else if annotated(s.ControlPlane) {
					found.On(s.at("metadata.annotations"), "its RKEControlPlane has the annotation "+pausedAnnotation+notBrought, fix)
				}
			}},
		// It finds the annotation where the planner does not look.
		{Rule: transform.Rule{ID: pauseNotObeyed, Severity: transform.Error, Guards: stages.Names(),
			Doc: "The cluster's own object, or its Cluster API Cluster, has the annotation cluster.x-k8s.io/paused, which Rancher's planner ignores: a change would reach the machines although the cluster is intended to be paused."}.Because(
			"The person who set the annotation expects that nothing changes, and Rancher would change machines all the same.", "rancher/rancher pkg/capr/planner", "Ask who paused it, and remove the annotation, or pause it in the way that Rancher obeys.", "If that person agrees."),
			Check: func(s Change, found *transform.Findings) {
				for _, o := range []struct {
					what string
					raw  []byte
				}{{"its object", s.Object}, {itsInfrastructure, s.Infrastructure}} {
					if annotated(o.raw) {
						found.On(s.at("metadata.annotations"), o.what+" has the annotation "+pausedAnnotation+", which Rancher ignores there: a change would reach the machines", "ask who paused it, and remove the annotation, or accept it with --accept "+pauseNotObeyed)
					}
				}
			}},
		// It finds what Rancher's controller of EtcdBackups wants (rancher
		// pkg/controllers/management/etcdbackup, isBackupSet): without it an EtcdBackup gets
		// no condition, ever.
		{Rule: transform.Rule{ID: noSnapshot, Severity: transform.Error, Guards: stages.Names(),
			Doc: "With `--etcd-snapshot`: an RKE1 cluster has no services.etcd.backupConfig, and Rancher takes no snapshot of such a cluster, also not from its UI."}.Because(
			"Rancher would record a snapshot that it cannot take.", "rancher/rancher pkg/controllers/management/etcdbackup", "Set services.etcd.backupConfig, or leave --etcd-snapshot out.", ""),
			Check: func(s Change, found *transform.Findings) {
				if !s.Snapshot {
					return
				}
				engine, err := ReadEngine(s.Object)
				backup, _, _ := unstructured.NestedFieldNoCopy(engine.Spec, "services", "etcd", "backupConfig")
				if err == nil && engine.Spec != nil && backup == nil {
					found.On(s.at("spec.rancherKubernetesEngineConfig.services.etcd"), "it has no backupConfig, and Rancher takes no etcd snapshot without one", "set backupConfig, with enabled: false if you do not want recurring snapshots, and wait until the cluster is Active; or run without --etcd-snapshot, after a snapshot in another way")
				}
			}},
		{Rule: transform.Rule{ID: ManagedElsewhere, Severity: transform.Error, Guards: stages.Names(),
			Doc: "Fleet, Argo CD, Flux, Terraform, Helm or an RKE template created the cluster's object, and would revert a change: change its source instead. Clients of Rancher's own API, such as Terraform's rancher2 provider, leave no sign and are not found."}.Because(
			"The program that made the object writes it again and reverts the stage, maybe in the middle of it.", "annotations and managedFields of the object", "Change the source that the program uses.", "If that program is stopped, or ignores the fields that the stages change."),
			Check: func(s Change, found *transform.Findings) {
				if s.Object == nil {
					return
				}
				managers, err := managersOf(s.Object)
				if err != nil {
					found.On(s.at(""), "its origin is unknown: "+err.Error(), "check the object")
				}
				for _, m := range managers {
					found.On(s.at("metadata"), m.Name+" created its object ("+m.Mark+"), and would revert a change", "change the source that "+m.Name+" uses, as plan shows, or accept it with --accept "+ManagedElsewhere)
				}
			}},
		{Rule: transform.Rule{ID: ValuesReplaced, Severity: transform.Error, Guards: stages.Names(),
			Doc: "On RKE1 the release of the cloud-controller-manager has values, such as an image mirror, that the run would drop or change without need: helm replaces all values of a release. Only a run that upgrades the release with helm checks it."}.Because(
			"helm upgrade with a values file replaces all values of a release: an image mirror, a selector or resources disappear silently, and the pods might not start.", helmValues, "Write the values of the release to a file, and name it with --ccm-values.", "If no cluster needs the values any more."),
			Check: func(s Change, found *transform.Findings) {
				r := s.Release
				if r == nil || len(r.Replaced) == 0 || r.File != "" {
					return
				}
				const file = "values.yaml"
				found.On(s.at(r.path()), r.title()+" has values that the run would drop or change, and the migration does not require it: "+strings.Join(r.Replaced, ", "),
					"write them to a file, and run the command with --ccm-values "+file+": "+action.Command("helm get values %s --namespace %s --output yaml", r.Name, r.Namespace)+" > "+file+
						"; if flags such as --ccm-image-repository set them in an earlier run, repeat the flags; to replace the values, use --accept "+ValuesReplaced)
			}},
		// A values file states what the operator wants, so what it does not have is only reported.
		{Rule: transform.Rule{ID: valuesNotInFile, Severity: transform.Warning, Guards: stages.Names(),
			Doc: "With `--ccm-values`: on RKE1 the release of the cloud-controller-manager has values that the file drops or changes without need. helm gets those of the file."}.Because(
			"The file is what the operator wants, and a file that is older than the release removes what was set since.", helmValues, "Add the values to the file.", ""),
			Check: func(s Change, found *transform.Findings) {
				r := s.Release
				if r == nil || len(r.Replaced) == 0 || r.File == "" {
					return
				}
				found.On(s.at(r.path()), r.title()+" has values that "+r.File+" does not have or changes, and helm gets those of the file: "+strings.Join(r.Replaced, ", "),
					"add them to "+r.File+" if the cluster needs them; compare: "+action.Command("helm get values %s --namespace %s", r.Name, r.Namespace))
			}},
	}
}

// at is a place of the object.
func (s Change) at(path string) string { return strings.TrimSpace(s.Title + " " + path) }

// Rules are the rules, for the documentation.
func Rules() []transform.Rule { return transform.RulesOf(table()) }

// Preconditions returns the blocking findings of a change of the cluster.
func Preconditions(s Change, accepted []string) []transform.Finding {
	return transform.FindingsOf(table(), s, "", accepted)
}

// Refused means that a cluster is not changed.
type Refused struct {
	Title    string
	Findings []transform.Finding // those that stop it
}

func (r *Refused) Error() string {
	found := lists.Map(r.Findings, func(f transform.Finding) string { return fmt.Sprintf("%s (%s): %s", f.Message, f.Rule, f.Fix) })
	return r.Title + ": refused, nothing was changed: " + strings.Join(found, "; ")
}

// ExitCode is that of a refusal.
func (r *Refused) ExitCode() transform.ExitCode { return transform.ExitRefused }

// Refuse returns *Refused where a finding stops a change.
func Refuse(title string, findings []transform.Finding) error {
	stop := transform.Stopping(findings)
	if len(stop) == 0 {
		return nil
	}
	return &Refused{title, stop}
}

// head is as much of an object as its rules need.
type head struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Paused   bool   `json:"paused"`
		Template string `json:"clusterTemplateRevisionName"`
	} `json:"spec"`
}

// headOf reads an object; of one that cannot be read nothing is known, and so
// it has no blocking finding here: what parses it says what is wrong with it.
func headOf(raw []byte) (h head) {
	if json.Unmarshal(raw, &h) != nil {
		return head{}
	}
	return h
}

// pausedAnnotation pauses an object of Cluster API, whatever its value.
const pausedAnnotation = "cluster.x-k8s.io/paused"

// itsInfrastructure is the name of the object in messages.
const itsInfrastructure = "its Cluster of Cluster API"

func annotated(raw []byte) bool {
	_, set := headOf(raw).Annotations[pausedAnnotation]
	return set
}

// Release is a release of helm in the cluster that a run upgrades.
type Release struct {
	Namespace, Name string
	// Replaced are the keys of the values that the run would drop or change although the migration does
	// not require it.
	Replaced []string
	File     string // the operator's values file; "" for none
}

// helmValues is where helm decides which values a release gets.
const helmValues = "helm/helm pkg/action/upgrade.go (reuseValues)"

func (r *Release) path() string { return "helm release " + r.Namespace + "/" + r.Name }

func (r *Release) title() string { return "the release " + r.Namespace + "/" + r.Name }

// OnlyValues reports whether a cluster is refused for nothing but the values of its release, which
// an operator has to name.
func (r *Refused) OnlyValues() bool {
	return len(r.Findings) > 0 && !slices.ContainsFunc(r.Findings, func(f transform.Finding) bool { return f.Rule != ValuesReplaced })
}

// manager is a program that keeps an object as its source says.
type manager struct {
	Name string // "Fleet"
	Mark string // where the object shows it: "the annotation objectset.rio.cattle.io/id"
}

// managersOf returns the managers of an object, each once. A manager is named with the
// mark that shows it. Rancher's own programs and people are no managers. What writes
// through Rancher's own API, as Terraform's rancher2 provider does, writes in Rancher's
// name and leaves no mark.
func managersOf(raw []byte) ([]manager, error) {
	var o head
	if json.Unmarshal(raw, &o) != nil {
		return nil, errors.New("the text is not a Kubernetes object")
	}
	var list []manager
	add := func(found manager) {
		if !slices.ContainsFunc(list, func(w manager) bool { return w.Name == found.Name }) {
			list = append(list, found)
		}
	}
	for _, m := range marks {
		if m.in(o) {
			add(manager{m.manager, m.kind + " " + m.key})
		}
	}
	for _, f := range o.ManagedFields {
		if name, known := writer(f.Manager); known && f.Subresource == "" && k8s.Sets(f, "f:spec") {
			add(manager{name, "the field manager " + f.Manager})
		}
	}
	if o.Spec.Template != "" {
		add(manager{"an RKE template", "the field spec.clusterTemplateRevisionName"})
	}
	return list, nil
}

// mark is a label or an annotation that a manager leaves.
type mark struct{ manager, kind, key string }

const label, annotation = "the label", "the annotation"

// What Rancher makes of its own objects is marked as that of Fleet is, and names its
// owner as well (wrangler, pkg/apply).
const (
	objectSet      = "objectset.rio.cattle.io/id"
	objectSetOwner = "objectset.rio.cattle.io/owner-gvk"
)

var marks = []mark{
	{"Fleet", annotation, objectSet},
	{"Argo CD", annotation, "argocd.argoproj.io/tracking-id"},
	{"Argo CD", annotation, "argocd.argoproj.io/installation-id"},
	{"Argo CD", label, "argocd.argoproj.io/instance"},
	{"Flux", label, "kustomize.toolkit.fluxcd.io/name"},
	{"Flux", label, "helm.toolkit.fluxcd.io/name"},
	{"Helm", annotation, "meta.helm.sh/release-name"},
}

func (m mark) in(o head) bool {
	set := o.Annotations
	if m.kind == label {
		set = o.Labels
	}
	if _, made := set[objectSetOwner]; made && m.key == objectSet {
		return false
	}
	return set[m.key] != ""
}

// writers are the beginnings of the names under which programs write.
var writers = []struct{ prefix, manager string }{
	{"fleetagent", "Fleet"}, {"fleet-agent", "Fleet"},
	{"argocd", "Argo CD"},
	{"kustomize-controller", "Flux"}, {"helm-controller", "Flux"},
	{"terraform", "Terraform"}, {"hashicorp", "Terraform"}, {"opentofu", "Terraform"},
	{"pulumi", "Pulumi"},
	{"helm", "Helm"},
}

// writer returns the program that a field manager's name is of.
func writer(field string) (string, bool) {
	for _, w := range writers {
		if strings.HasPrefix(strings.ToLower(field), w.prefix) {
			return w.manager, true
		}
	}
	return "", false
}
