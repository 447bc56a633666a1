// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// operator does what stages ask for beside their edits, with the files that a plan folder holds.
type operator struct {
	*scenario
	host     string // the folder that stands for the file system of every control plane
	beside   agent.Beside
	kubelets string // the provider that they were last given by hand
}

func (s *scenario) operator() *operator {
	return &operator{scenario: s, host: filepath.Join(s.cluster.Dir, "host")}
}

// legs are the stages of a plan that change what the managers get, as wanted reads it off a document.
func (o *operator) legs(plan *transform.Plan, wanted func(*yamledit.Document) agent.Wanted) []leg {
	var list []leg
	for _, step := range plan.Steps {
		if !step.Changes() && len(o.files(step)) == 0 {
			continue
		}
		ahead := step.Stage.Ahead
		if !step.Changes() {
			ahead = delivered(step.Stage.Actions)
		}
		list = append(list, leg{
			step:   step,
			ahead:  func() { o.doAll(step, step.Stage.Actions[:ahead]) },
			wanted: func() agent.Wanted { return wanted(step.After) },
			behind: func() { o.doAll(step, step.Stage.Actions[ahead:]) },
		})
	}
	return list
}

// delivered returns how many actions it takes until all that a stage without an edit brings is handed over.
// The machines follow then; what goes, goes behind that.
func delivered(actions []transform.Action) int {
	n := 0
	for i, a := range actions {
		switch a.(type) {
		case transform.HelmUpgrade, transform.ApplyFile, transform.SecretFromFile:
			n = i + 1
		}
	}
	return n
}

// files are those of a stage in its plan folder, by name.
func (o *operator) files(step transform.Step) map[string]string {
	o.Helper()
	list, err := step.Files()
	if err != nil {
		o.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range list {
		files[f.Name] = f.Content
	}
	return files
}

func (o *operator) doAll(step transform.Step, actions []transform.Action) {
	o.Helper()
	files := o.files(step)
	for _, a := range actions {
		if err := o.do(a, files); err != nil {
			o.Fatalf("%s: %s: %v", step.Stage.Name, a.Command(), err)
		}
	}
}

// do carries out what changes something. What only looks, waits or delivers the document is for the
// scenario's own gates and the agent.
func (o *operator) do(a transform.Action, files map[string]string) error {
	switch a := a.(type) {
	case transform.ApplyFile:
		return o.keep(a.File, files)
	case transform.SecretFromFile:
		secret, err := yaml.Marshal(corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Name: a.Name, Namespace: a.Namespace},
			StringData: map[string]string{a.Key: files[a.File]},
		})
		if err != nil {
			return err
		}
		return o.keep(a.File, map[string]string{a.File: string(secret)})
	case transform.HelmUpgrade:
		var err error
		o.beside.Values, err = yamledit.ParseString(a.Values, files[a.Values])
		return err
	case transform.DeleteObject:
		return o.remove(a)
	case transform.PlaceFile:
		return o.place(a.Path, files[a.File])
	case transform.RemoveFile:
		return os.Remove(filepath.Join(o.host, a.Path))
	case transform.KubeletProvider:
		o.kubelets = a.To
		o.external = a.To == "external"
	}
	return nil
}

// keep adds the objects of a file to those that are in the cluster; the next rollout applies them.
func (o *operator) keep(name string, files map[string]string) error {
	for _, chunk := range yamledit.Split(name, []byte(files[name])) {
		doc, err := yamledit.Parse(chunk)
		if err != nil {
			return err
		}
		if doc.Root().IsMap() {
			o.beside.Objects = append(o.beside.Objects, doc)
		}
	}
	return nil
}

// remove takes a ConfigMap out of the cluster.
func (o *operator) remove(a transform.DeleteObject) error {
	o.beside.Objects = slices.DeleteFunc(o.beside.Objects, func(d *yamledit.Document) bool {
		name, _ := d.Root().Get("metadata", "name").String()
		kind, _ := d.Root().Get("kind").String()
		return name == a.Name && kind == "ConfigMap"
	})
	return o.client.CoreV1().ConfigMaps(a.Namespace).Delete(context.WithoutCancel(o.Context()), a.Name, metav1.DeleteOptions{})
}

func (o *operator) place(path, content string) error {
	file := filepath.Join(o.host, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(content), 0o644)
}
