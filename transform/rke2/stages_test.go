// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const release = "v1.26.15+rke2r1"

// A configuration without pools is a custom cluster: any roles may be there.
const (
	onAWS    = "machineGlobalConfig:\n  cloud-provider-name: aws\n"
	oneNode  = "machinePools:\n- {name: all, etcdRole: true, controlPlaneRole: true, workerRole: true}\n"
	split    = "machinePools:\n- {name: cp, controlPlaneRole: true}\n- {name: etcd, etcdRole: true}\n- {name: workers, workerRole: true}\n"
	twoZones = "machinePools:\n- {name: a, controlPlaneRole: true, labels: {zone: a}}\n- {name: b, controlPlaneRole: true, labels: {zone: b}}\n"
)

const (
	forControlPlanes = "machineLabelSelector: {matchLabels: {rke.cattle.io/control-plane-role: 'true'}}"
	forEtcd          = "machineLabelSelector: {matchLabels: {rke.cattle.io/etcd-role: 'true'}}"
	forWorkers       = "machineLabelSelector: {matchLabels: {rke.cattle.io/worker-role: 'true'}}"
	forZoneA         = "machineLabelSelector: {matchLabels: {zone: a}}"
)

func migrated(t *testing.T, doc *yamledit.Document) *migration {
	t.Helper()
	return targeted(t, doc, chosen)
}

func targeted(t *testing.T, doc *yamledit.Document, target transform.Target) *migration {
	t.Helper()
	c := assert.Value(open(transform.Only(doc), target))(t)
	return c.(*migration)
}

// cluster opens the cluster of a configuration.
func cluster(t *testing.T, config string) *migration {
	t.Helper()
	return migrated(t, parse(t, document(release, config)))
}

func stageOf(t *testing.T, c transform.Cluster, name string) transform.Stage {
	t.Helper()
	s, found := lists.Find(c.Stages(), func(s transform.Listed) bool { return s.Name == name })
	assert.Must(t, found, "no stage", name)
	return s.Stage()
}

// after applies one stage and returns the configuration after it. It requires
// that the stage's own check holds, that nothing is left to do, and that the
// reverse restores every byte.
func after(t *testing.T, config, stage string) string {
	t.Helper()
	return afterAt(t, release, config, stage, chosen)
}

var marks = regexp.MustCompile(`‹([^→]*)→([^›]*)›`)

// edits compares what a stage makes of configurations with their marks: ‹a→b› is a before the stage and b after it.
func edits(t *testing.T, stage string, target transform.Target, cases map[string]string) {
	t.Helper()
	for name, marked := range cases {
		t.Run(name, func(t *testing.T) {
			assert.DeepEqual(t, afterAt(t, release, marks.ReplaceAllString(marked, "$1"), stage, target), marks.ReplaceAllString(marked, "$2"))
		})
	}
}

// afterAt does so on a release, with the operator's choices.
func afterAt(t *testing.T, version, config, stage string, target transform.Target) string {
	t.Helper()
	m := targeted(t, parse(t, document(version, config)), target)
	s := stageOf(t, m, stage)
	e := assert.Value(s.Edit())(t)
	doc, splices, err := e.Apply()
	assert.NilError(t, err)
	then := targeted(t, doc, m.Target)
	assert.NilError(t, s.Check(then))
	assert.Truef(t, assert.Value(stageOf(t, then, stage).Edit())(t).Empty(), "something is left to do in\n%s", doc.Bytes())
	restored(t, m.Doc, doc, splices)
	return configOf(doc)
}

func restored(t *testing.T, before, after *yamledit.Document, splices []yamledit.Splice) {
	t.Helper()
	reverse := assert.Value(yamledit.Reverse(before.Bytes(), splices))(t)
	back, err := yamledit.Apply(after.Bytes(), reverse)
	assert.Truef(t, err == nil && string(back) == string(before.Bytes()), "the reverse does not restore the document (%v):\n%s", err, back)
}

// configOf undoes document.
func configOf(doc *yamledit.Document) string {
	_, config, _ := strings.Cut(string(doc.Bytes()), "  rkeConfig:\n")
	config = strings.ReplaceAll("\n"+config, "\n    ", "\n")
	return strings.Trim(config, "\n") + "\n"
}

// planned builds the plan of a configuration. It requires that building the plan
// of its result leaves nothing to do, and that every reverse restores.
func planned(t *testing.T, version, config string, target transform.Target) *plan.Plan {
	t.Helper()
	p := assert.Value(plan.Build(Format(), transform.Only(parse(t, document(version, config))), target))(t)
	last := p.Start[0]
	for _, s := range p.Steps {
		assert.Truef(t, s.Documents[0].Before == last, "%s does not start where the stage before it ends", s.Stage.Name)
		back, err := yamledit.Apply(s.After()[0].Bytes(), s.Documents[0].Reverse)
		assert.Truef(t, err == nil && string(back) == string(s.Before()[0].Bytes()), "the reverse of %s does not restore the document: %v", s.Stage.Name, err)
		last = s.Documents[0].After
	}
	again := assert.Value(plan.Build(Format(), transform.Only(last), target))(t)
	for _, s := range again.Steps {
		assert.Truef(t, !left(s) && !s.Changes(), "%s is %s again in\n%s", s.Stage.Name, s.State, last.Bytes())
	}
	return p
}

func left(s plan.Step) bool {
	return s.State == plan.Todo || s.State == plan.Blocked
}

// step returns a plan's step of a stage.
func step(t *testing.T, p *plan.Plan, stage string) plan.Step {
	t.Helper()
	s, ok := p.Step(stage)
	assert.Mustf(t, ok, "no step %s", stage)
	return s
}

// checked lets a stage compare a configuration with one that it did not make.
func checked(t *testing.T, stage, before, doctored string) error {
	t.Helper()
	after := &migration{Cluster: opened(t, release, doctored)}
	return stageOf(t, cluster(t, before), stage).Check(after)
}

// fails compares an error with a part of its message, "" for none.
func fails(t *testing.T, err error, want string, of ...any) {
	t.Helper()
	assert.True(t, (want != "" || err == nil) && (want == "" || err != nil && strings.Contains(err.Error(), want)), append(of, "\ngot: ", err, "\nwant:", want)...)
}

// edited reports whether a stage has anything to do.
func edited(t *testing.T, config, stage string) bool {
	t.Helper()
	e := assert.Value(stageOf(t, cluster(t, config), stage).Edit())(t)
	return !e.Empty()
}
