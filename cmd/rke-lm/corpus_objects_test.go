// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	manifests "github.com/rke-lm/rke-lm/transform/manifest"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// TestCorpusObjectsThroughRanchersTypes takes every golden cluster as an object of a
// Rancher that writes it through its Go types, and whose webhook writes it too, through
// all stages and back.
func TestCorpusObjectsThroughRanchersTypes(t *testing.T) {
	sweep(t)
	total := map[string]objectCount{rke1.Name: {}, rke2.Name: {}}
	var mu sync.Mutex
	t.Run("each", func(t *testing.T) {
		for i, file := range goldenFiles(t) {
			if strings.HasPrefix(file.Name, "rule-") && strings.HasSuffix(file.Name, "-not") {
				continue // it almost breaks a rule, and is like all others
			}
			t.Run(file.Name, func(t *testing.T) {
				t.Parallel()
				for _, doc := range goldenDocuments(file) {
					s := objectSweep{t: t, rule: strings.HasPrefix(file.Name, "rule-"), webhook: ranchertest.NewWebhook(uint64(i)), count: objectCount{}}
					d := s.document(doc)
					mu.Lock()
					for what, n := range s.count {
						total[d][what] += n
					}
					mu.Unlock()
				}
			})
		}
	})
	for _, name := range []string{rke2.Name, rke1.Name} {
		n := total[name]
		t.Logf("%s: %v", name, n)
		assert.Truef(t, n["clusters"] >= fewestObjects && n["written"] >= 3*fewestObjects && (n["in another form"] != 0 || name != rke2.Name) && n["undone"] >= n["undone as files"], "%s: too few: %v", name, n)
	}
}

// fewestObjects is how many golden clusters of a format can be planned.
const fewestObjects = 40

// objectCount is what happened to objects, and how often.
type objectCount map[string]int

type objectSweep struct {
	t       *testing.T
	rule    bool // one rule in a file that is like all others
	webhook *ranchertest.Webhook
	count   objectCount
}

// document takes one golden document forward and backward, and returns its format.
func (s *objectSweep) document(doc *yamledit.Document) string {
	s.t.Helper()
	target := transform.Target{EndState: transform.EndStateExternal}
	if strings.Contains(string(doc.Bytes()), "kube-apiserver-arg") {
		target.EndState = transform.EndStateOverride // which edits them
	}
	d, plan := goldenPlan(doc, target)
	if plan == nil || d.Name == manifests.Name {
		return ""
	}
	object := assert.Value(asObject(d, plan.Start[0]))(s.t)
	s.count["clusters"]++
	object = s.webhook.Admit(s.webhook.Kept(object))
	for _, step := range plan.Steps {
		if !step.Changes() || plan.Target.Situation == transform.Broken && step.Stage.Name == stages.InstallCCM {
			continue // after the switch an object does not show that the chart is missing
		}
		next, err := s.stage(d, object, step, target)
		if err != nil {
			s.t.Errorf("%s: %v", step.Stage.Name, err)
			break
		}
		object = next
	}
	return d.Name
}

// stage writes one stage and takes it back, and returns the object after it.
func (s *objectSweep) stage(d transform.Format, before []byte, file plan.Step, target transform.Target) ([]byte, error) {
	doc, err := served(before)
	if err != nil {
		return nil, err
	}
	p, err := plan.BuildFor(d, transform.Only(doc), target, plan.Choice{Stage: file.Stage.Name, Through: true})
	if err != nil {
		return nil, fmt.Errorf("the object cannot be planned: %w", err)
	}
	step, err := p.Named(file.Stage.Name)
	if err != nil || !step.Changes() {
		return nil, fmt.Errorf("the object has nothing to do: %v", err)
	}
	after, err := s.write(d, before, doc, step.Documents[0].After)
	if err != nil {
		return nil, err
	}
	s.count["written"]++
	if doc, err = served(after); err != nil {
		return nil, err
	}
	for _, usual := range []bool{false, true} {
		if usual && s.rule {
			break
		}
		target.CanonicalForm = usual
		undone, err := s.undo(d, after, doc, file, target)
		if err != nil {
			return nil, err
		}
		// The usual form may be another one, and so may the place of the flag.
		if undone != nil && !usual && file.Stage.Name != stages.SwitchToExternal && !d.SameSpec(undone, step.Documents[0].Before) {
			return nil, errors.New("undone, it is another object")
		}
	}
	return after, nil
}

// undo takes a stage back, and returns the object without it; nil where the file does
// not tell what was there before either.
func (s *objectSweep) undo(d transform.Format, after []byte, doc *yamledit.Document, file plan.Step, target transform.Target) (*yamledit.Document, error) {
	_, fileErr := plan.Undo(d, file.After(), target, file.Stage.Name, false)
	if fileErr == nil {
		s.count["undone as files"]++
	}
	back, err := plan.Undo(d, transform.Only(doc), target, file.Stage.Name, false)
	switch {
	case err != nil && fileErr == nil:
		return nil, fmt.Errorf("it is undone as a file, and not as an object: %w", err)
	case err != nil:
		s.count["not undone, as the file is not"]++
		return nil, nil
	case len(back) != 1:
		return nil, fmt.Errorf("%d steps back", len(back))
	}
	undone, err := s.write(d, after, doc, back[0].Documents[0].After)
	if err != nil {
		return nil, fmt.Errorf("back: %w", err)
	}
	s.count["undone"]++
	return served(undone)
}

// write writes a version of an object as a run does, and returns it as Rancher has it
// then.
func (s *objectSweep) write(d transform.Format, raw []byte, before, after *yamledit.Document) ([]byte, error) {
	p, err := jsonpatch.Diff(before.Bytes(), after.Bytes())
	if err != nil {
		return nil, err
	}
	plain, err := patched(raw, p.Bytes())
	if err != nil {
		return nil, fmt.Errorf("the server refuses it: %w", err)
	}
	now := s.webhook.Admit(plain)
	for what, object := range map[string][]byte{"a dry run": plain, "the write": now, "what controllers write": s.webhook.Kept(now)} {
		if !p.Applied(object, d.Alike) {
			return nil, errors.New("altered in " + what)
		}
	}
	if string(now) != string(plain) {
		s.count["in another form"]++
	}
	doc, err := served(now)
	if err != nil {
		return nil, err
	}
	wanted, err := rollout.NewWanted(d, doc, now, transform.Target{})
	if err != nil {
		return nil, err
	}
	later := s.webhook.Admit(s.webhook.Kept(now))
	var seen map[string]any
	if err := json.Unmarshal(later, &seen); err != nil {
		return nil, err
	}
	if rollout.Overtaken(seen, wanted) {
		return nil, errors.New("Rancher's own writes are taken for those of others")
	}
	if string(later) != string(now) && !p.Applied(later, d.Alike) {
		return nil, errors.New("altered later")
	}
	return later, nil
}

// served is an object as a document.
func served(raw []byte) (*yamledit.Document, error) {
	return transform.Parse(yamledit.Chunk{File: "object", Bytes: raw, Served: true})
}

// asObject is a golden document as the object that Rancher makes of it.
func asObject(d transform.Format, doc *yamledit.Document) ([]byte, error) {
	object, isMap := doc.Root().Value().(map[string]any)
	if !isMap {
		return nil, errors.New("no mapping")
	}
	metadata := map[string]any{"name": "c-x7k2p", "uid": "u-1"}
	if d.Name == rke1.Name {
		c, err := rke1.Open(doc, "")
		if err != nil {
			return nil, err
		}
		object = map[string]any{"apiVersion": "management.cattle.io/v3", "kind": "Cluster", "spec": map[string]any{"displayName": "curlew", "rancherKubernetesEngineConfig": c.Read}}
	} else {
		metadata["name"], metadata["namespace"] = d.Identify(doc).Name, "fleet-default"
		if strings.Contains(doc.File(), "psact") {
			object["spec"].(map[string]any)["defaultPodSecurityAdmissionConfigurationTemplateName"] = "rancher-restricted"
		}
	}
	object["metadata"] = metadata
	return json.Marshal(object)
}
