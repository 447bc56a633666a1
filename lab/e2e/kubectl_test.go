// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/cluster"
)

// definitions is the file with the definitions of the controller's objects.
const definitions = "../../deploy/chart/crds/crds.yaml"

// kubectl prepares kubectl in the namespace of the controller.
func (k *controlled) kubectl(args ...string) *exec.Cmd {
	k.Helper()
	program := assert.Value(build.Kubectl.Path(k.Context()))(k)
	config := assert.Value(k.rancher.Local.Kubeconfig(cluster.Admin))(k)
	cmd := exec.CommandContext(k.Context(), program, append(args, "--kubeconfig", config, "--namespace", controllerSpace)...)
	cmd.Env = []string{"PATH=" + filepath.Dir(program), "HOME=" + k.rancher.Local.Dir}
	return cmd
}

// asked is what kubectl prints.
func (k *controlled) asked(args ...string) string {
	k.Helper()
	out, err := k.kubectl(args...).CombinedOutput()
	if err != nil {
		k.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// listed requires what kubectl get prints of the LeaderMigration, by the names of the columns.
func (k *controlled) listed(want map[string]string) {
	k.Helper()
	text := k.asked("get", v1alpha1.MigrationResource, k.name)
	k.Log("kubectl get " + v1alpha1.MigrationResource + "\n" + text)
	lines := strings.Split(text, "\n")
	got, at := map[string]string{}, 0
	for title := range strings.FieldsSeq(lines[0]) { // an empty cell has only its place in the line
		from := at + strings.Index(lines[0][at:], title)
		at = from + len(title)
		to := at + len(lines[0][at:]) - len(strings.TrimLeft(lines[0][at:], " "))
		if to == len(lines[0]) {
			to = len(lines[1])
		}
		got[title] = strings.TrimSpace(lines[1][min(from, len(lines[1])):min(to, len(lines[1]))])
	}
	if got["AGE"] == "" {
		k.Errorf("no age: %v", got)
	}
	delete(got, "AGE")
	assert.DeepEqual(k, got, want, "kubectl get (-want +got)")
}

// awaited runs kubectl wait for a condition, and returns what waits for its end.
func (k *controlled) awaited(condition string) func() {
	k.Helper()
	var out strings.Builder
	cmd := k.kubectl("wait", "--for=condition="+condition, "--timeout="+endless.String(), strings.ToLower(v1alpha1.MigrationKind)+"/"+k.name)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	assert.NilError(k, cmd.Start())
	return func() {
		k.Helper()
		if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), " condition met") {
			k.Fatalf("kubectl wait: %v %s\n%s", err, &out, k.over())
		}
	}
}

// field is a field of an object as kubectl explain knows it, and its description.
type field struct{ path, text string }

// explained requires that kubectl explain has every field of the specification, each with its description.
func (k *controlled) explained() {
	k.Helper()
	const root = "leadermigration.spec"
	want := fieldsOf(k.specSchema(), root)
	var paths, nested []string
	for _, f := range want {
		if f.text == "" {
			k.Errorf("%s has no description", f.path)
		}
		paths = append(paths, f.path)
		nested = append(nested, f.path[:strings.LastIndex(f.path, ".")])
	}
	slices.Sort(paths)
	if diff := cmp.Diff(paths, treeOf(k.asked("explain", root, "--recursive"), root)); diff != "" {
		k.Errorf("kubectl explain %s --recursive (-want +got):\n%s", root, diff)
	}
	slices.Sort(nested)
	for _, at := range slices.Compact(nested) {
		printed := oneLine(k.asked("explain", at))
		for _, f := range want {
			if strings.HasPrefix(f.path, at+".") && !strings.Contains(f.path[len(at)+1:], ".") && !strings.Contains(printed, oneLine(f.text)) {
				k.Errorf("kubectl explain %s does not describe %s: %s", at, f.path, f.text)
			}
		}
	}
}

// oneLine is a text without its line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// specSchema is the schema of the specification in the definition.
func (k *controlled) specSchema() apiextensionsv1.JSONSchemaProps {
	k.Helper()
	text := assert.Value(os.ReadFile(definitions))(k)
	for _, one := range strings.Split(string(text), "---\n")[1:] {
		var d apiextensionsv1.CustomResourceDefinition
		assert.NilError(k, yaml.UnmarshalStrict([]byte(one), &d))
		if d.Spec.Names.Kind == v1alpha1.MigrationKind {
			return d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		}
	}
	k.Fatalf("%s has no %s", definitions, v1alpha1.MigrationKind)
	return apiextensionsv1.JSONSchemaProps{}
}

// fieldsOf lists the fields below a schema.
func fieldsOf(s apiextensionsv1.JSONSchemaProps, at string) (list []field) {
	if s.Items != nil {
		return fieldsOf(*s.Items.Schema, at)
	}
	for name, p := range s.Properties {
		list = append(list, field{at + "." + name, p.Description})
		list = append(list, fieldsOf(p, at+"."+name)...)
	}
	return list
}

// treeOf reads the fields that kubectl explain --recursive prints: one on each line, three spaces for each level.
func treeOf(text, root string) (paths []string) {
	const level = 3
	_, tree, _ := strings.Cut(text, "FIELDS:\n")
	at := []string{root}
	for line := range strings.Lines(tree) {
		name, _, is := strings.Cut(line, "\t")
		if !is {
			continue
		}
		depth := (len(name) - len(strings.TrimLeft(name, " "))) / level
		at = append(at[:min(depth, len(at))], strings.TrimSpace(name))
		paths = append(paths, strings.Join(at, "."))
	}
	slices.Sort(paths)
	return paths
}
