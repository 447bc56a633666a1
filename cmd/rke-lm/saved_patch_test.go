// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	evanphx "gopkg.in/evanphx/json-patch.v4"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/transform"
)

// printedWharf is wharf as kubectl prints it; no stage touches the password. A server
// writes & and < in another way than a file does.
var printedWharf = strings.NewReplacer(
	"  name: wharf\n", "  generation: 7\n  name: wharf\n",
	"  namespace: fleet-default\n", "  namespace: fleet-default\n  resourceVersion: \"88412\"\n  uid: 5d1f6c1e-8c1a-4d0e-9f54-2b7f0b8f3a10\n",
	"namespace: demo}\n", "namespace: demo}\n      data: {hint: a < b && c > ü 🚢}\n",
	"    etcd:", "    registries: {configs: {r.example: {auth: {password: hunter2hunter2}}}}\n    etcd:",
).Replace(wharf) + "status:\n  ready: true\n"

// A manager as kubectl prints it.
const printedManager = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: kube-controller-manager
  namespace: kube-system
  resourceVersion: "311"
  uid: 0c3be8a4-57c5-4b5c-8f2e-6f6f9a1d2b77
spec:
  selector: {matchLabels: {app: kcm}}
  template:
    metadata: {labels: {app: kcm}}
    spec:
      containers:
      - name: kube-controller-manager
        image: registry.k8s.io/kube-controller-manager:v1.26.15
        command: [kube-controller-manager, --cloud-provider=aws, --leader-elect=true]
`

var patchCommand = regexp.MustCompile(`(?m)^kubectl --\S+ (?:-n (\S+) )?patch (\S+) --type=json --patch-file (\S+)$`)

// patched is an object after a patch, as an API server applies it.
func patched(object, patch []byte) ([]byte, error) {
	list, err := evanphx.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	return list.Apply(object)
}

// uncounted is an object without what the server counts.
func uncounted(t *testing.T, text string) map[string]any {
	t.Helper()
	object := parsedYAML(t, text)
	delete(object["metadata"].(map[string]any), "resourceVersion")
	delete(object["metadata"].(map[string]any), "generation")
	return object
}

// taken is an object after a patch file, sent by kubectl: once, and only if no one changed a value that it tests. Someone
// else writes the status then. It also returns how many values are tested.
func taken(t *testing.T, object []byte, file string) (after []byte, tests int) {
	t.Helper()
	info := assert.Value(os.Stat(file))(t)
	assert.True(t, info.Mode().Perm() == 0o600, file, info.Mode())
	patch := assert.Value(kubeyaml.ToJSON([]byte(textOf(t, file))))(t) // as kubectl reads a patch file
	var operations []struct{ Op, Path string }
	assert.NilError(t, json.Unmarshal(patch, &operations))
	for _, o := range operations {
		assert.Truef(t, !strings.Contains(o.Path, "resourceVersion"), "%s: %s %s, which changes all the time", file, o.Op, o.Path)
		if o.Op == "test" {
			tests++
			other := assert.Value(patched(object, fmt.Appendf(nil, `[{"op": "replace", "path": %q, "value": "of someone else"}]`, o.Path)))(t)
			_, err := patched(other, patch)
			assert.Truef(t, err != nil, "%s: it overwrites someone else's %s", file, o.Path)
		}
	}
	after = assert.Value(patched(object, patch))(t)
	_, err := patched(after, patch)
	assert.Truef(t, err != nil, "%s can be applied twice", file)
	return assert.Value(evanphx.MergePatch(after, fmt.Appendf(nil, `{"metadata": {"resourceVersion": %q, "generation": %d}}`, file, 100+len(file))))(t), tests
}

// TestTheRunbookPatchesAnObjectThatKubectlPrinted follows the kubectl lines of runbooks
// forward and back. The second kubectl replace would be refused: every document keeps
// the resourceVersion of the first read.
func TestTheRunbookPatchesAnObjectThatKubectlPrinted(t *testing.T) {
	rke2, rke1 := golden.Input(t, "rke2-api-object-served").Text(), golden.Input(t, "rke1-api-object-served").Text()
	list := "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSuffix(printedWharf, "\n"), "\n", "\n  ") + "\nmetadata:\n  resourceVersion: \"\"\n"
	for _, c := range []struct{ name, file, text, object, folder, namespace, resource string }{
		{"RKE2 in YAML", "c.yaml", printedWharf, printedWharf, "fleet-default/wharf", "fleet-default", "clusters.provisioning.cattle.io/wharf"},
		{"RKE2 in a list", "c.yaml", list, printedWharf, "fleet-default/wharf", "fleet-default", "clusters.provisioning.cattle.io/wharf"},
		{"RKE2 in JSON", "c.json", rke2, rke2, "", "fleet-default", ""},
		{"RKE1 in JSON", "c.json", rke1, rke1, "", "", "clusters.management.cattle.io/c-p4w9z"},
		{"a Deployment", "c.yaml", printedManager, printedManager, "kube-system/kube-controller-manager", "kube-system", "deployments.apps/kube-controller-manager"},
	} {
		t.Run(c.name, func(t *testing.T) {
			here(t, map[string]string{c.file: c.text})
			shows(t, transform.ExitDone, "plan --out plans "+c.file)
			books, err := filepath.Glob("plans/*/*/runbook.md")
			assert.Must(t, err == nil && len(books) == 1, books, err)
			book := textOf(t, books[0])
			assert.Truef(t, !strings.Contains(book, " replace -f") && !regexp.MustCompile(` apply -f \S*/\d\d-`).MatchString(book) && strings.Contains(book, "Do not remove the tests."), "it has other ways:\n%s", book)
			live, documents := assert.Value(yaml.YAMLToJSON([]byte(c.object)))(t), []string{c.object}
			var back []string
			for _, m := range patchCommand.FindAllStringSubmatch(book, -1) {
				namespace, resource, file := m[1], m[2], m[3]
				assert.Truef(t, namespace == c.namespace && (c.resource == "" || resource == c.resource), "it patches another object: %s", m[0])
				if strings.HasSuffix(file, ".undo.patch.json") {
					back = append(back, file)
					continue
				}
				after, tests := taken(t, live, file)
				assert.Truef(t, tests >= 2, "%s tests no more than the UID", file)
				document := textOf(t, strings.TrimSuffix(file, ".patch.json")+filepath.Ext(c.file))
				assert.DeepEqual(t, uncounted(t, string(after)), uncounted(t, document), "the object is not the document (-want +got)")
				live, documents = after, append(documents, document)
			}
			assert.Mustf(t, len(documents) >= 2 && len(back) == len(documents)-1, "%d documents and %d ways back in\n%s", len(documents), len(back), book)
			for i, file := range slices.Backward(back) {
				live, _ = taken(t, live, file)
				assert.DeepEqual(t, uncounted(t, string(live)), uncounted(t, documents[i]), "the object is not the document (-want +got)")
			}
		})
	}
}

// A patch holds what the stage changes and tests, and no secret apart from that.
func TestPatchesHoldNoSecretThatTheirStageDoesNotTouch(t *testing.T) {
	planned(t, map[string]string{"c.yaml": printedWharf}, "c.yaml")
	files, err := filepath.Glob("plans/fleet-default/wharf/*.patch.json")
	assert.Must(t, err == nil && len(files) == 10, files, err)
	for _, file := range files {
		assert.Truef(t, !strings.Contains(textOf(t, file), "hunter2"), "%s holds a secret of another place", file)
	}
}

// A file of git has no resourceVersion: its user applies it to the server.
func TestTheRunbookSaysWhyAnObjectHasNoPatch(t *testing.T) {
	const replace = `kubectl --kubeconfig="${RANCHER_KUBECONFIG:?}" replace -f /`
	for text, want := range map[string][]string{
		wharf: {replace},
		regexp.MustCompile(`(?m)^  uid: .*\n`).ReplaceAllString(printedWharf, ""): {"There is no patch for kubectl: the object has no metadata.uid", "the server accepts it only until the\nobject changes", replace},
	} {
		planned(t, map[string]string{"c.yaml": text}, "c.yaml")
		files, err := filepath.Glob("plans/fleet-default/wharf/*.patch.json")
		book := textOf(t, "plans/fleet-default/wharf/runbook.md")
		assert.True(t, err == nil && len(files) == 0 && !patchCommand.MatchString(book) && (text != wharf || !strings.Contains(book, " patch ")), files, err, book)
		for _, part := range want {
			assert.Contains(t, book, part, "it does not say")
		}
	}
}
