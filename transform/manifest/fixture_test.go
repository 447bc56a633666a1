// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	onAWS    = "--cloud-provider=aws"
	noRoutes = "--configure-cloud-routes=false"
)

var generated = transform.Target{LeaderMigrationConfig: transform.ConfigGenerate}

// static returns the static pod of a kube-controller-manager with these arguments.
func static(flags ...string) string {
	return object("v1", "Pod", "kube-controller-manager") + "spec:\n" + podSpec("  ", "registry.k8s.io/kube-controller-manager:v1.26.15", "kube-controller-manager", flags)
}

// deployed returns a Deployment of a kube-controller-manager; spec is what is
// next to its template.
func deployed(spec string, flags ...string) string {
	return object("apps/v1", "Deployment", "kube-controller-manager") + "spec:\n" + spec + "  selector:\n    matchLabels: {component: kcm}\n  template:\n    metadata:\n      labels: {component: kcm}\n    spec:\n" +
		podSpec("      ", "registry.k8s.io/kube-controller-manager:v1.26.15", "kube-controller-manager", flags)
}

// cloud returns a DaemonSet of the cloud-controller-manager.
func cloud(flags ...string) string { return cloudOf("v1.26.6", flags...) }

func cloudOf(tag string, flags ...string) string {
	return object("apps/v1", "DaemonSet", "aws-cloud-controller-manager") + "spec:\n  selector:\n    matchLabels: {app: ccm}\n  template:\n    metadata:\n      labels: {app: ccm}\n    spec:\n" +
		podSpec("      ", "registry.k8s.io/provider-aws/cloud-controller-manager:"+tag, "/bin/aws-cloud-controller-manager", append([]string{noRoutes}, flags...))
}

func object(api, kind, name string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  namespace: kube-system\n", api, kind, name)
}

func podSpec(indent, image, program string, flags []string) string {
	lines := []string{"containers:", "- name: manager", "  image: " + image, "  command:", "  - " + program}
	for _, f := range flags {
		lines = append(lines, "  - "+f)
	}
	return indent + strings.Join(lines, "\n"+indent) + "\n"
}

// configuration returns a ClusterConfiguration with this part for the manager.
func configuration(manager string) string {
	return "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\nclusterName: harbour\nkubernetesVersion: v1.26.15\ncontrollerManager:\n" + manager
}

func parse(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	return parseAs(t, "m.yaml", text)
}

func parseAs(t *testing.T, file, text string) *yamledit.Document {
	t.Helper()
	return assert.Value(yamledit.ParseString(file, text))(t)
}

// opened returns a manifest with the choices of its operator.
func opened(t *testing.T, text string, target transform.Target) *migration {
	t.Helper()
	c := assert.Value(Format().Open(transform.Only(parse(t, text)), target))(t)
	return c.(*migration)
}

func planned(t *testing.T, text string, target transform.Target) *plan.Plan {
	t.Helper()
	return assert.Value(plan.Build(Format(), transform.Only(parse(t, text)), target))(t)
}

// undone undoes a stage of a document.
func undone(t *testing.T, text, stage string, target transform.Target) ([]plan.Step, error) {
	t.Helper()
	return plan.Undo(Format(), transform.Only(parse(t, text)), target, stage, false)
}

// after returns a document as it is after a stage.
func after(t *testing.T, p *plan.Plan, stage string) string {
	t.Helper()
	s, found := p.Step(stage)
	assert.Mustf(t, found, "there is no stage %s", stage)
	return string(s.After()[0].Bytes())
}

// states returns how far each edit stage has come.
func states(p *plan.Plan) string {
	edits := lists.Where(p.Steps, func(s plan.Step) bool { return s.State != plan.ActionOnly })
	return strings.Join(lists.Map(edits, func(s plan.Step) string { return s.Stage.Name + " " + string(s.State) }), ", ")
}
