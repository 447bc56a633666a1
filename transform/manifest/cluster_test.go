// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const kubeletsOfNewNodes = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n    cloud-provider: aws\n"

// stream returns the documents of a stream, as they are read and gathered.
func stream(t *testing.T, texts ...string) []*yamledit.Document {
	t.Helper()
	docs := lists.Map(yamledit.Split("all.yaml", []byte(strings.Join(texts, "---\n"))), func(c yamledit.Chunk) *yamledit.Document {
		return assert.Value(transform.Parse(c))(t)
	})
	return assert.Value(Format().Grouping.Group(docs, nil))(t)[0]
}

func planAll(t *testing.T, target transform.Target, texts ...string) *plan.Plan {
	t.Helper()
	return assert.Value(plan.Build(Format(), stream(t, texts...), target))(t)
}

const leader = "--enable-leader-migration"

func TestTheOrderOfStagesHoldsBetweenTheDocumentsOfACluster(t *testing.T) {
	external := transform.Target{EndState: transform.EndStateExternal}
	p := planAll(t, external, static(onAWS, leader), cloud(onAWS))
	assert.Equal(t, states(p), "enable-leader-migration done, install-ccm todo, switch-to-external todo, disable-leader-migration todo")
	next, err := p.Choose(plan.Choice{Next: true})
	assert.Truef(t, err == nil && len(next) == 1 && next[0].Stage.Name == stages.InstallCCM, "the next stage is not install-ccm: %v", err)
	_, err = p.Choose(plan.Choice{Stage: stages.SwitchToExternal})
	assert.True(t, errors.As(err, new(*transform.Conflict)), err)
	assert.ErrorContains(t, err, "install-ccm comes before switch-to-external and is not done")
}

func TestAStageIsDoneWhenItIsInAllOfItsDocuments(t *testing.T) {
	p := planAll(t, transform.Target{}, static(onAWS, leader), configuration("  extraArgs:\n    cloud-provider: aws\n"))
	step, _ := p.Step(stages.EnableLeaderMigration)
	assert.Truef(t, step.State == plan.Todo && !step.Documents[0].Changes() && step.Documents[1].Changes(), "the flag is %s, and is in the static pod alone", step.State)
}

func TestASecondOwnerIsSeenInAnotherDocument(t *testing.T) {
	for name, c := range map[string]struct {
		texts []string
		want  []string
	}{
		"the manager lacks the flag":        {[]string{static(onAWS, leader), cloud(onAWS)}, []string{"ccm-flag-missing"}},
		"the configuration of kubeadm":      {[]string{cloud(onAWS), configuration("  extraArgs:\n    cloud-provider: aws\n")}, []string{"ccm-flag-missing"}},
		"it has the flag":                   {[]string{static(onAWS, leader), cloud(onAWS, leader)}, nil},
		"it is alone":                       {[]string{cloud(onAWS)}, nil},
		"the other one is external":         {[]string{static("--cloud-provider=external"), cloud(onAWS)}, nil},
		"the other one is external, alone":  {[]string{static("--cloud-provider=external")}, []string{"ccm-not-in-file"}},
		"neither is known to run elsewhere": {[]string{static(onAWS, leader)}, nil},
	} {
		cluster := assert.Value(Format().Lint(stream(t, c.texts...), transform.Target{}))(t)
		got := lists.Map(cluster.Findings(""), func(f transform.Finding) string { return f.Rule })
		got = lists.Where(got, func(rule string) bool { return rule == "ccm-flag-missing" || rule == "ccm-not-in-file" })
		assert.EqualSlices(t, got, c.want, name)
	}
}

func TestTwoClustersInOneFolderAreRefusedAndBothAreNamed(t *testing.T) {
	named := configuration("  extraArgs:\n    cloud-provider: aws\n") // harbour
	for name, c := range map[string]struct {
		a, b string
		want string
	}{
		"two kube-controller-managers":   {static(onAWS), static(onAWS, leader), "a second kube-controller-manager"},
		"two cloud-controller-managers":  {cloud(onAWS), cloudOf("v1.26.9", onAWS), "a second cloud-controller-manager"},
		"two configurations of kubeadm":  {named, strings.Replace(named, "harbour", "quay", 1), "a second ClusterConfiguration"},
		"a pod and a Deployment":         {static(onAWS), deployed("", onAWS), "a second kube-controller-manager"},
		"managers of different clusters": {static(onAWS, "--cluster-name=quay"), named, "the name of another cluster (harbour instead of quay)"},
	} {
		_, err := Format().Grouping.Group([]*yamledit.Document{parseAs(t, "a.yaml", c.a), parseAs(t, "b.yaml", "# two\n"+c.b)}, nil)
		assert.True(t, errors.As(err, new(*transform.Refused)) && strings.Contains(err.Error(), c.want) && strings.Contains(err.Error(), "a.yaml:1") && strings.Contains(err.Error(), "b.yaml:2"), err, name)
	}
}

func TestFilesForNewNodesMayBeMany(t *testing.T) {
	p := planAll(t, transform.Target{EndState: transform.EndStateExternal}, kubeletsOfNewNodes, cloud(onAWS, leader), kubeletsOfNewNodes, static(onAWS, leader))
	step, _ := p.Step(stages.SwitchToExternal)
	changed := lists.Map(step.Documents, func(r plan.Revision) bool { return r.Changes() })
	// The manager of Kubernetes is first, then that of the cloud, then the kubelets.
	assert.Truef(t, slices.Equal(changed, []bool{true, false, true, true}) && len(step.Stage.AfterManual) == 0, "the switch changes %v, and waits for %v", changed, step.Stage.AfterManual)
}

// An edit of one document leaves the bytes of all others alone, and every document can
// be undone by itself.
func TestAnEditOfOneDocumentLeavesTheBytesOfTheOthers(t *testing.T) {
	pod, daemonSet := static(onAWS), "# the cloud's\r\n"+strings.ReplaceAll(cloud(onAWS), "\n", "\r\n")
	kubeadm := configuration("  extraArgs: {cloud-provider: aws} # in one line\n")
	all := []string{pod, daemonSet, kubeadm, kubeletsOfNewNodes}
	for _, target := range []transform.Target{{EndState: transform.EndStateExternal}, {EndState: transform.EndStateExternal, LeaderMigrationConfig: transform.ConfigGenerate}} {
		for chosen := 1; chosen < 1<<len(all); chosen++ {
			var texts []string
			for i, text := range all {
				if chosen&(1<<i) != 0 {
					texts = append(texts, text)
				}
			}
			p := planAll(t, target, texts...)
			docs := p.Start
			for _, s := range p.Steps {
				for i, r := range s.Documents {
					assert.Mustf(t, r.Before == docs[i] && (r.Changes() || r.After == r.Before), "%s: document %d is another one", s.Stage.Name, i)
					there, err := yamledit.Apply(r.Before.Bytes(), r.Splices)
					back, undo := yamledit.Apply(r.After.Bytes(), r.Reverse)
					assert.Mustf(t, err == nil && undo == nil && bytes.Equal(there, r.After.Bytes()) && bytes.Equal(back, r.Before.Bytes()), "%s: document %d does not go forward and back (%v, %v)", s.Stage.Name, i, err, undo)
				}
				docs = s.After()
			}
			again, err := plan.Build(Format(), docs, target)
			assert.Mustf(t, err == nil && !again.Left(), "planned again, something is left (%v)", err)
		}
	}
}

func TestTheStagesOfAClusterAreUndoneFromItsDocuments(t *testing.T) {
	target := transform.Target{EndState: transform.EndStateExternal, CanonicalForm: true}
	p := planAll(t, target, static(onAWS), cloud(onAWS), kubeletsOfNewNodes)
	last := p.Steps[len(p.Steps)-1].After()
	assert.Error(plan.Undo(Format(), last, target, stages.InstallCCM, false))(t, "disable-leader-migration comes after install-ccm", "stages of other documents do not come first")
	steps := assert.Value(plan.Undo(Format(), last, target, stages.EnableLeaderMigration, true))(t)
	names := lists.Map(steps, func(s plan.Step) string { return s.Stage.Name })
	assert.EqualSlices(t, names, []string{stages.DisableLeaderMigration, stages.SwitchToExternal, stages.InstallCCM, stages.EnableLeaderMigration})
	for i, doc := range steps[len(steps)-1].After() {
		assert.Truef(t, bytes.Equal(doc.Bytes(), p.Start[i].Bytes()), "document %d is not what it was:\n%s", i, doc.Bytes())
	}
}
