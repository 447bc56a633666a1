// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migratetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// getValues answers helm get values: with those of the release that was installed last, as helm does.
const getValues = `#!/bin/sh
[ -z "$RANCHER_TOKEN" ] || exit 9
if [ "$1" = get ]; then
  echo "$@" >> "$HELM_SAYS.reads"
  [ -f "$HELM_SAYS.values" ] || { echo "Error: release: not found" >&2; exit 1; }
  cat "$HELM_SAYS.values"
  exit
fi
`

// recordingHelm does nothing but say how it was called: the chart's values are with
// the request that comes next.
const recordingHelm = getValues + `
rm -f "$HELM_SAYS.values"
for f in "$@"; do if [ "$last" = --values ]; then cp "$f" "$HELM_SAYS.values"; fi; last=$f; done
{ echo "$@"; while [ $# -gt 1 ]; do if [ "$1" = --values ]; then cat "$2"; fi; shift; done; } > "$HELM_SAYS.new"
cp "$KUBECONFIG" "$HELM_SAYS.kubeconfig"
pwd > "$HELM_SAYS.folder"
mv "$HELM_SAYS.new" "$HELM_SAYS"
`

// recordHelm puts a helm on the PATH that says in files how it was called: its
// arguments and values in [World.Helm], its kubeconfig and its working folder in that
// with .kubeconfig and .folder.
func (w *World) recordHelm(t testing.TB) {
	w.Helm = filepath.Join(t.TempDir(), "says")
	t.Setenv("HELM_SAYS", w.Helm)
	w.PutHelm(t, recordingHelm)
}

// PutHelm puts another helm on the PATH.
func (w *World) PutHelm(t testing.TB, script string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "helm"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// PutFailingHelm puts a helm on the PATH that leaves the record v1 of an install that
// is not complete, prints a message, and fails.
func (w *World) PutFailingHelm(t testing.TB, message string) {
	t.Helper()
	left := w.Helm + leftSuffix
	w.PutHelm(t, getValues+"echo pending-install > "+left+".new\nmv "+left+".new "+left+"\necho '"+message+"' >&2\nexit 1\n")
}

// PutRelease is an operator who has installed the chart with values of his own.
func (w *World) PutRelease(t testing.TB, values string) {
	t.Helper()
	for name, text := range map[string]string{w.Helm + valuesSuffix: values, w.Helm: operatorUpgrade + "\n" + values} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.Follow()
}

// operatorUpgrade is how the operator called helm.
const operatorUpgrade = "upgrade by the operator"

// valuesSuffix ends the name of the file with the values of the release, as helm get values prints
// them, and readsSuffix that of the file with the calls that read them.
const (
	valuesSuffix = ".values"
	readsSuffix  = ".reads"
)

// Values returns the values of the release.
func (w *World) Values(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(w.Helm + valuesSuffix)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ReadValues returns how helm was asked for the values of the release, a call in each line.
func (w *World) ReadValues() string {
	text, _ := os.ReadFile(w.Helm + readsSuffix)
	return string(text)
}

// leftSuffix ends the name of the file in which a helm that fails says in which state
// its record is.
const leftSuffix = ".left"

// HelmRan reports whether the recording helm has installed or removed something.
func (w *World) HelmRan() bool {
	text, err := os.ReadFile(w.Helm)
	return err == nil && !strings.HasPrefix(string(text), operatorUpgrade)
}

// RecordName begins the names of the records of the chart's release.
const RecordName = "sh.helm.release.v1.aws-cloud-controller-manager."

// recordPath begins the paths of the records that are not at their end; the object
// there is the status.
const recordPath = "/api/v1/namespaces/kube-system/secrets/" + RecordName

// PutRecord puts the record of a helm that runs, or was killed.
func (w *World) PutRecord(revision, status string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects[recordPath+revision] = status
	w.runRKE1Locked()
}

// HasRecord reports whether that of a revision is still there.
func (w *World) HasRecord(revision string) bool {
	return w.Exists(recordPath + revision)
}

// released runs the managers that helm asks for, where one is recorded.
func (w *World) released() {
	if w.Helm == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	output, _ := os.ReadFile(w.Helm)
	if _, none := os.Stat(w.Helm + leftSuffix); none != nil && w.output == string(output) {
		return
	}
	w.output = string(output)
	w.runRKE1Locked()
}

// Released returns the image tag of the chart that helm installed last.
func (w *World) Released() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, tag := w.releasedLocked()
	return tag
}

// releasedLocked returns the arguments and the image tag of the chart that helm
// installed last; no arguments where there is none.
func (w *World) releasedLocked() (cloud []args.Arg, tag string) {
	text, err := os.ReadFile(w.Helm)
	line, values, called := strings.Cut(string(text), "\n")
	if err != nil || !called || !strings.HasPrefix(line, "upgrade") {
		return nil, ""
	}
	d, err := yamledit.ParseString("values", values)
	if err != nil {
		panic(err)
	}
	tag, _ = d.Root().Get("image", "tag").String()
	return args.Of(d.Root().Get("args").Value()), tag
}

// recordsLocked lists the records of the release.
func (w *World) recordsLocked(deployed bool) (list []corev1.Secret) {
	if left, err := os.ReadFile(w.Helm + leftSuffix); err == nil {
		w.objects[recordPath+"v1"] = strings.TrimSpace(string(left))
		os.Remove(w.Helm + leftSuffix)
	}
	if deployed {
		list = append(list, record("v1", "deployed"))
	}
	for path, status := range w.objects {
		if revision, is := strings.CutPrefix(path, recordPath); is {
			list = append(list, record(revision, status))
		}
	}
	return list
}

// record is what helm keeps of a release.
func record(revision, status string) corev1.Secret {
	return corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kube-system", Name: RecordName + revision, CreationTimestamp: metav1.Unix(1741687087, 0),
		Labels: map[string]string{"owner": "helm", "name": "aws-cloud-controller-manager", "status": status},
	}}
}
