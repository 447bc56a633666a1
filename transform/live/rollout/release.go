// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
)

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

// releaseRules are those about it. A values file states what the operator wants, so what it does not
// have is only reported.
func releaseRules() []rule {
	notInFile := row(valuesNotInFile, false, Change.valuesNotInFile, "With `--ccm-values`: on RKE1 the release of the cloud-controller-manager has values that the file drops or changes without need. helm gets those of the file.").Because(
		"The file is what the operator wants, and a file that is older than the release removes what was set since.", helmValues, "Add the values to the file.", "")
	notInFile.Severity = transform.Warning
	return []rule{
		row(ValuesReplaced, true, Change.valuesReplaced, "On RKE1 the release of the cloud-controller-manager has values, such as an image mirror, that the run would drop or change without need: helm replaces all values of a release. Only a run that upgrades the release with helm checks it.").Because(
			"helm upgrade with a values file replaces all values of a release: an image mirror, a selector or resources disappear silently, and the pods might not start.", helmValues, "Write the values of the release to a file, and name it with --ccm-values.", "If no cluster needs the values any more."),
		notInFile,
	}
}

func (s Change) valuesReplaced(found report) {
	r := s.Release
	if r == nil || len(r.Replaced) == 0 || r.File != "" {
		return
	}
	const file = "values.yaml"
	found(r.path(), r.title()+" has values that the run would drop or change, and the migration does not require it: "+strings.Join(r.Replaced, ", "),
		"write them to a file, and run the command with --ccm-values "+file+": "+action.Command("helm get values %s --namespace %s --output yaml", r.Name, r.Namespace)+" > "+file+
			"; if flags such as --ccm-image-repository set them in an earlier run, repeat the flags; to replace the values, use --accept "+ValuesReplaced)
}

func (s Change) valuesNotInFile(found report) {
	r := s.Release
	if r == nil || len(r.Replaced) == 0 || r.File == "" {
		return
	}
	found(r.path(), r.title()+" has values that "+r.File+" does not have or changes, and helm gets those of the file: "+strings.Join(r.Replaced, ", "),
		"add them to "+r.File+" if the cluster needs them; compare: "+action.Command("helm get values %s --namespace %s", r.Name, r.Namespace))
}

func (r *Release) path() string { return "helm release " + r.Namespace + "/" + r.Name }

func (r *Release) title() string { return "the release " + r.Namespace + "/" + r.Name }

// OnlyValues reports whether a cluster is refused for nothing but the values of its release, which
// an operator has to name.
func (r *Refused) OnlyValues() bool {
	return len(r.Findings) > 0 && !slices.ContainsFunc(r.Findings, func(f transform.Finding) bool { return f.Rule != ValuesReplaced })
}
