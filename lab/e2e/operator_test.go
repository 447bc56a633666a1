// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// operator does what stages require in addition to their edits, with the files that plan folders hold.
type operator struct {
	*scenario
	related  agent.Related
	kubelets string // the provider that they were last given by hand
}

// planFolder holds the files of a plan, by name.
type planFolder map[string]string

// host is the folder in place of the file system of every control plane.
func (s *scenario) host() string { return filepath.Join(s.cluster.Dir, "host") }

// transitions are the stages of a plan that change what the managers get, as wanted reads it off a document.
// Without a document there is nothing to read: it was taken out of the cluster.
func (o *operator) transitions(plan *plan.Plan, wanted func(*yamledit.Document) agent.Wanted) []transition {
	var list []transition
	folder := o.folder(plan)
	for _, step := range plan.Steps {
		if !step.Changes() && len(o.files(step)) == 0 {
			continue
		}
		s := step.Stage
		if !step.Changes() {
			s.Before, s.After = delivered(s.After)
			s.UndoBefore, s.UndoAfter = delivered(s.UndoAfter)
		}
		before := func() *yamledit.Document {
			if step.Stage.Withdrawn {
				return nil
			}
			return o.undone(step)
		}
		list = append(list, transition{
			step:     step,
			forward:  o.change(folder, s.Before, s.After, func() agent.Wanted { return wanted(step.Documents[0].After) }),
			backward: o.change(folder, s.UndoBefore, s.UndoAfter, func() agent.Wanted { return wanted(before()) }),
		})
	}
	return list
}

// change does some actions before the machines follow, and others after that.
func (o *operator) change(folder planFolder, before, after []action.Action, wanted func() agent.Wanted) change {
	return change{func() { o.doAll(before, folder) }, wanted, func() { o.doAll(after, folder) }}
}

// delivered cuts the actions of a stage without an edit after the last that brings something or takes it
// away. The machines follow then; what goes, goes after that.
func delivered(actions []action.Action) (before, after []action.Action) {
	n := 0
	for i, a := range actions {
		switch a.Op.(type) {
		case action.HelmUpgrade, action.HelmUninstall, action.Apply, action.SecretFromFile:
			n = i + 1
		}
	}
	return actions[:n], actions[n:]
}

// folder returns what a plan folder holds. A stage that is undone needs files of stages before it.
func (o *operator) folder(plan *plan.Plan) planFolder {
	o.Helper()
	all := planFolder{}
	for _, step := range plan.Steps {
		for _, f := range o.files(step) {
			all[f.Name] = f.Content
		}
	}
	return all
}

func (o *operator) files(step plan.Step) []action.File {
	o.Helper()
	list := assert.Value(step.Files())(o)
	return list
}

func (o *operator) doAll(actions []action.Action, folder planFolder) {
	o.Helper()
	for _, a := range actions {
		if err := o.do(a, folder); err != nil {
			o.Fatalf("%s: %v", a.Command, err)
		}
	}
}

// do carries out what changes something. What only looks, waits or delivers the document is for the
// scenario's own gates and the agent.
func (o *operator) do(a action.Action, files planFolder) error {
	switch a := a.Op.(type) {
	case action.Apply:
		return o.keep(a.File, files)
	case action.SecretFromFile:
		secret, err := yaml.Marshal(corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Name: a.Name, Namespace: a.Namespace},
			StringData: map[string]string{a.Key: files[a.File]},
		})
		if err != nil {
			return err
		}
		return o.keep(a.File, planFolder{a.File: string(secret)})
	case action.HelmUpgrade:
		var err error
		o.related.Values, err = yamledit.ParseString(a.Values, files[a.Values])
		return err
	case action.HelmUninstall:
		o.related.Values = nil
	case action.Delete:
		return o.remove(a.Namespace, a.Kinds, a.Name)
	case action.Removed:
		return o.remove(a.Namespace, a.Kinds, a.Name) // by hand, as it says
	case action.Place:
		return o.place(a.Path, files[a.File])
	case action.Remove:
		if strings.HasPrefix(a.Path, "/etc/kubernetes/manifests/") {
			return nil // what the kubelets' folder holds is for wanted to say
		}
		return os.Remove(filepath.Join(o.host(), a.Path))
	case action.Kubelets:
		o.kubelets = a.To
		o.external = a.To == "external"
	}
	return nil
}

// keep adds the objects of a file to those that are in the cluster; the next rollout applies them.
func (o *operator) keep(name string, files planFolder) error {
	for _, chunk := range yamledit.Split(name, []byte(files[name])) {
		doc, err := yamledit.Parse(chunk)
		if err != nil {
			return err
		}
		if doc.Root().IsMap() {
			o.related.Objects = append(o.related.Objects, doc)
		}
	}
	return nil
}

// remove takes objects out of the cluster and out of what the next rollout applies.
func (o *operator) remove(namespace, kinds, name string) error {
	o.related.Objects = slices.DeleteFunc(o.related.Objects, func(d *yamledit.Document) bool {
		called, _ := d.Root().Get("metadata", "name").String()
		kind, _ := d.Root().Get("kind").String()
		return called == name && slices.Contains(strings.Split(kinds, ","), strings.ToLower(kind))
	})
	return o.scenario.remove(namespace, kinds, name)
}

// remove takes objects out of the cluster, if they are there. What a chart brings is for the agent.
func (s *scenario) remove(namespace, kinds, name string) error {
	remove := map[string]func(context.Context, string, metav1.DeleteOptions) error{
		"configmap":   s.client.CoreV1().ConfigMaps(namespace).Delete,
		"role":        s.client.RbacV1().Roles(namespace).Delete,
		"rolebinding": s.client.RbacV1().RoleBindings(namespace).Delete,
	}
	for _, kind := range strings.Split(kinds, ",") {
		if remove[kind] == nil {
			continue
		}
		if err := remove[kind](s.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (o *operator) place(path, content string) error {
	file := filepath.Join(o.host(), path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(content), 0o644)
}
