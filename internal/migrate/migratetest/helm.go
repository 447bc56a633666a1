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

// recordingHelm does nothing but say how it was called: the chart's values are with
// the request that comes next.
const recordingHelm = `#!/bin/sh
[ -z "$RANCHER_TOKEN" ] || exit 9
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
	w.PutHelm(t, "#!/bin/sh\necho pending-install > "+left+".new\nmv "+left+".new "+left+"\necho '"+message+"' >&2\nexit 1\n")
}

// leftSuffix ends the name of the file in which a helm that fails says in which state
// its record is.
const leftSuffix = ".left"

// HelmRan reports whether the recording helm was called.
func (w *World) HelmRan() bool {
	_, err := os.Stat(w.Helm)
	return err == nil
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
}

// HasRecord reports whether that of a revision is still there.
func (w *World) HasRecord(revision string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, there := w.objects[recordPath+revision]
	return there
}

// released runs the managers that helm asks for, where one is recorded.
func (w *World) released() {
	if w.Helm == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
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
