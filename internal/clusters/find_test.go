// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/manifest"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	podOfManager = `apiVersion: v1
kind: Pod
metadata: {name: kube-controller-manager, namespace: kube-system}
spec:
  containers:
  - name: manager
    image: registry.k8s.io/kube-controller-manager:v1.26.15
    command: [kube-controller-manager, --cloud-provider=aws]
`
	daemonSetOfCloud = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: aws-cloud-controller-manager, namespace: kube-system}
spec:
  selector: {matchLabels: {app: ccm}}
  template:
    metadata: {labels: {app: ccm}}
    spec:
      containers:
      - name: manager
        image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.6
        args: [--cloud-provider=aws]
`
)

// provisioned is a cluster that Rancher provisions, in JSON.
func provisioned(name string) string {
	return strings.ReplaceAll(`{
  "apiVersion": "provisioning.cattle.io/v1", "kind": "Cluster",
  "metadata": {"name": "NAME", "namespace": "fleet-default"},
  "spec": {"kubernetesVersion": "v1.26.15+rke2r1", "rkeConfig": {"machineGlobalConfig": {"cloud-provider-name": "aws"}}},
  "status": {"clusterName": "c-m-NAME"}
}
`, "NAME", name)
}

func finder() Finder {
	return Finder{Formats: []transform.Format{rke2.Format(), manifest.Format()}, Overlays: source.NewOverlays(source.Disk{})}
}

// clusterName is the name in the document that names a cluster.
func clusterName(c Cluster) string {
	name, _ := c.Docs[0].Root().Get("metadata", "name").String()
	return name
}

// seen lists, in order, what came of a search: clusters, errors, and the ends of files.
type seen struct {
	clusters []Cluster
	lines    []string
	errs     []error
}

// find searches for clusters.
func find(t *testing.T, f Finder, stdin string, paths ...string) (s seen) {
	t.Helper()
	for _, r := range f.Files(t.Context(), paths, strings.NewReader(stdin)).Results {
		if r.Err == nil && r.Docs != nil {
			if r.Err = r.Refusal(transform.Target{}); r.Err == nil {
				s.clusters = append(s.clusters, r.Cluster)
				s.lines = append(s.lines, clusterName(r.Cluster))
			}
		}
		if r.Err != nil {
			s.errs = append(s.errs, r.Err)
			s.lines = append(s.lines, "error")
		}
		if len(r.Ended) > 0 {
			names := lists.Map(r.Ended, func(f source.Text) string { return filepath.Base(f.Name) })
			s.lines = append(s.lines, "end of "+strings.Join(names, " and "))
		}
	}
	return s
}

func (s seen) check(t *testing.T, want ...string) {
	t.Helper()
	assert.EqualSlices(t, s.lines, want, s.errs)
}

// checkErr fails unless the one error has a code and a text.
func (s seen) checkErr(t *testing.T, code int, text string) {
	t.Helper()
	assert.Truef(t, len(s.errs) == 1 && transform.ExitCodeOf(s.errs[0]) == code && strings.Contains(s.errs[0].Error(), text), "want %q with code %d: %v", text, code, s.errs)
}

func TestTheClustersOfFilesComeInTheirOrder(t *testing.T) {
	folder := folderOf(t, map[string]string{"a.yaml": provisioned("orchard") + "---\n" + provisioned("harbour"), "b.yaml": "kind: Secret\n", "c.json": `{"kind": "ConfigMap"}`, "d.yml": provisioned("wharf")})
	find(t, finder(), "", folder).check(t, "orchard", "harbour", "end of a.yaml", "wharf", "end of d.yml")
}

func TestAFolderWithABrokenFileYieldsTheOtherClusters(t *testing.T) {
	folder := folderOf(t, map[string]string{"a.yaml": provisioned("orchard"), "b.yaml": strings.Replace(provisioned("harbour"), "{", "{\"kind\": \"Cluster\",", 1), "c.yaml": provisioned("wharf")})
	s := find(t, finder(), "", folder)
	s.check(t, "orchard", "end of a.yaml", "error", "end of b.yaml", "wharf", "end of c.yaml")
	var at *yamledit.Error
	assert.True(t, errors.As(s.errs[0], &at) && filepath.Base(at.File) == "b.yaml" && at.Line != 0, s.errs)
}

func TestStandardInputIsReadAsAStream(t *testing.T) {
	s := find(t, finder(), provisioned("orchard")+"---\n"+provisioned("harbour"), "-")
	s.check(t, "orchard", "harbour", "end of "+filepath.Base(yamledit.Stdin))
	assert.True(t, !s.clusters[0].Sources[0].IsFile(), "a stream is taken for a file")
}

func TestTheManifestsOfAFolderAreOneClusterAndTheirFilesEndTogether(t *testing.T) {
	folder := folderOf(t, map[string]string{"ccm.yaml": daemonSetOfCloud, "kcm.yaml": podOfManager, "z.yaml": provisioned("orchard")})
	s := find(t, finder(), "", folder)
	s.check(t, "orchard", "end of z.yaml", "kube-controller-manager", "end of ccm.yaml and kcm.yaml")
	c := s.clusters[1]
	assert.True(t, len(c.Docs) == 2 && len(c.Sources) == 2 && filepath.Base(c.Sources[0].Name) == "kcm.yaml" && filepath.Base(c.Sources[1].Name) == "ccm.yaml", c.Sources)
}

func TestTheManifestsOfAListAreOneCluster(t *testing.T) {
	list := "apiVersion: v1\nkind: List\nitems:\n"
	for _, text := range []string{daemonSetOfCloud, podOfManager} {
		list += "- " + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n  "), "  ")
	}
	s := find(t, finder(), list, "-")
	s.check(t, "kube-controller-manager", "end of "+filepath.Base(yamledit.Stdin))
	assert.Equal(t, len(s.clusters[0].Docs), 2)
}

func TestSeparateManifestsAreClustersOfTheirOwn(t *testing.T) {
	folder := folderOf(t, map[string]string{"ccm.yaml": daemonSetOfCloud, "kcm.yaml": podOfManager})
	f := finder()
	f.SeparateDocuments = true
	find(t, f, "", folder).check(t, "aws-cloud-controller-manager", "end of ccm.yaml", "kube-controller-manager", "end of kcm.yaml")
}

func TestTwoClustersInAStreamOfManifestsAreRefused(t *testing.T) {
	s := find(t, finder(), podOfManager+"---\n"+daemonSetOfCloud+"---\n"+podOfManager, "-")
	s.check(t, "error", "end of "+filepath.Base(yamledit.Stdin))
	s.checkErr(t, transform.ExitRefused, yamledit.Stdin)
}

func TestAManifestThatCannotBeReadRefusesTheClusterItMayBeOf(t *testing.T) {
	folder := folderOf(t, map[string]string{"ccm.yaml": daemonSetOfCloud + "metadata: {}\n", "kcm.yaml": podOfManager})
	s := find(t, finder(), "", folder)
	s.check(t, "error", "end of ccm.yaml", "error", "end of kcm.yaml")
	text := s.errs[1].Error()
	want := filepath.Join(folder, "ccm.yaml") + " cannot be read, and may describe the same cluster"
	assert.True(t, strings.Contains(text, "kcm.yaml") && strings.Contains(text, want) && transform.ExitCodeOf(s.errs[1]) == transform.ExitInput, text)
}

func TestWhereThereIsNoClusterItIsReportedWhy(t *testing.T) {
	for _, c := range []struct {
		name, text string
		code       int
		want       string
	}{
		{"empty.yaml", "", transform.ExitRefused, "the file is empty; name a file that holds "},
		{"other.yaml", "kind: Secret\n", transform.ExitRefused, "other.yaml: no cluster in it; name a file that holds "},
		{"part.yaml", "machineGlobalConfig: {}\n", transform.ExitRefused, "a fragment of a cluster"},
		{"list.yaml", "items: [{kind: Secret}]\n", transform.ExitInput, "a list of objects that is none of kubectl"},
		{"kustomization.yaml", "resources: [a.yaml]\n", transform.ExitRefused, "kustomization.yaml: a kustomization"},
		{"binary.yaml", "\x00", transform.ExitInput, "NUL byte"},
	} {
		folder := folderOf(t, map[string]string{c.name: c.text})
		s := find(t, finder(), "", filepath.Join(folder, c.name))
		s.check(t, "error", "end of "+c.name)
		s.checkErr(t, c.code, c.want)
	}
}

func TestAFolderWithoutAClusterIsAnErrorThatConcernsNoFile(t *testing.T) {
	for name, want := range map[string]string{"a.yaml": "no cluster was found; name a file that holds ", "kustomization.yaml": "kustomization.yaml: a kustomization"} {
		folder := folderOf(t, map[string]string{name: "resources: []\n", "binary.yaml": "\x00"})
		s := find(t, finder(), "", folder)
		s.check(t, "error", "end of .")
		s.checkErr(t, transform.ExitRefused, want)
	}
}

func TestAPathThatIsNotThereKeepsNoOtherFromBeingRead(t *testing.T) {
	folder := folderOf(t, map[string]string{"a.yaml": provisioned("orchard")})
	s := find(t, finder(), "", filepath.Join(folder, "gone.yaml"), folder)
	s.check(t, "error", "end of .", "orchard", "end of a.yaml")
	s.checkErr(t, transform.ExitInput, "gone.yaml: no such file or folder")
}

func TestAForcedFormatTakesEveryDocument(t *testing.T) {
	f := finder()
	f.Formats, f.Forced = f.Formats[:1], true
	_, c, err := f.Open(yamledit.Chunk{File: "a.yaml", Bytes: []byte("kind: Secret\n")})
	assert.Truef(t, err == nil && c.Format.Name == rke2.Name && f.Expected() == c.Format.Document, "%+v, %v", c, err)
	f.Forced = false
	_, c, err = f.Open(yamledit.Chunk{File: "a.yaml", Bytes: []byte("kind: Secret\n")})
	assert.Truef(t, err == nil && c.Docs == nil, "%+v, %v", c, err)
}

func TestAClusterThatAnOverlayChangesIsRefusedUnlessThatIsAccepted(t *testing.T) {
	overlay := "resources: [a.yaml]\npatches:\n- target: {kind: Cluster}\n  patch: |-\n    - {op: replace, path: /spec/kubernetesVersion, value: v1.27.1+rke2r1}\n"
	folder := folderOf(t, map[string]string{"a.yaml": provisioned("orchard"), "kustomization.yaml": overlay})
	s := find(t, finder(), "", filepath.Join(folder, "a.yaml"))
	s.check(t, "error", "end of a.yaml")
	refusal := (*transform.Refused)(nil)
	assert.Must(t, errors.As(s.errs[0], &refusal), s.errs)
	c := Cluster{overlaid: refusal}
	err := c.Refusal(transform.Target{Accept: []string{refusal.Rule}})
	assert.True(t, err == nil, err)
}

func TestAPlaceNamesTheDocument(t *testing.T) {
	for want, c := range map[string]yamledit.Chunk{
		"fleet.yaml":                {File: "fleet.yaml"},
		"fleet.yaml:31: document 2": {File: "fleet.yaml", Index: 1, Line: 30},
		"fleet.yaml:4: item 1":      {File: "fleet.yaml", Item: 1, Line: 3},
	} {
		assert.Equal(t, place(c), want)
	}
}

func TestASearchThatIsEndedFindsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	found := finder().Files(ctx, []string{folderOf(t, map[string]string{"a.yaml": provisioned("orchard")})}, nil)
	assert.True(t, len(found.Results) == 0, found)
}

// configured is such a cluster whose managers read a configuration from a ConfigMap.
func configured(name string) string {
	return strings.Replace(provisioned(name), `"aws"}`, `"aws"}, "machineSelectorFiles": [{"fileSources": [{"configMap":
  {"name": "managers", "items": [{"key": "c", "path": "/etc/rancher/rke2/config/leadermigration.conf"}]}}]}]`, 1)
}

const managersConfig = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: managers, namespace: fleet-default}\ndata:\n  c: \"kind: LeaderMigrationConfiguration\"\n"

func TestAClusterWaitsForTheObjectThatItNamesAndOthersDoNot(t *testing.T) {
	folder := folderOf(t, map[string]string{
		"a.json": configured("waits"), "b.json": provisioned("alone"), "c.yaml": managersConfig, "d.json": configured("also"),
	})
	s := find(t, finder(), "", folder)
	s.check(t, "alone", "end of b.json", "waits", "also", "end of a.json", "end of d.json")
	for _, c := range s.clusters[1:] {
		assert.Truef(t, len(c.Docs) == 2 && filepath.Base(c.Sources[1].Name) == "c.yaml", "%s: %+v", clusterName(c), c.Sources)
	}
}

func TestAnObjectOfAnotherFolderIsNotOfTheCluster(t *testing.T) {
	folder := folderOf(t, map[string]string{"a.json": configured("waits")})
	s := find(t, finder(), managersConfig, folder, "-")
	s.check(t, "waits", "end of a.json", "error", "end of "+filepath.Base(yamledit.Stdin))
	assert.Equal(t, len(s.clusters[0].Docs), 1, "it has the object of another stream")
}

func TestAFileThatIsNamedMayHoldTheObjectOfACluster(t *testing.T) {
	folder := folderOf(t, map[string]string{"a.yaml": managersConfig, "b.json": configured("waits"), "c.json": provisioned("alone")})
	object := filepath.Join(folder, "a.yaml")
	find(t, finder(), "", object, filepath.Join(folder, "b.json")).check(t, "waits", "end of b.json")
	find(t, finder(), "", object, filepath.Join(folder, "c.json")).check(t, "alone", "end of c.json", "error", "end of a.yaml")
}

func TestManifestsAndClustersOfAFolderAreNotOfOneCluster(t *testing.T) {
	s := find(t, finder(), configured("waits")+"---\n"+podOfManager+"---\n"+managersConfig+"---\n"+daemonSetOfCloud, "-")
	assert.Truef(t, len(s.errs) == 0 && len(s.clusters) == 2 && clusterName(s.clusters[0]) == "waits" && len(s.clusters[0].Docs) == 2 && len(s.clusters[1].Docs) == 2, "%v, %v", s.lines, s.errs)
}

// Wherever its work is spent, a document has an error of its own.
func TestABudgetThatIsSpentEndsNoSearch(t *testing.T) {
	most := yamledit.Most.Nodes
	t.Cleanup(func() { yamledit.Most.Nodes = most })
	for yamledit.Most.Nodes = range int64(100) {
		found := finder().From(t.Context(), []source.Source{
			source.FromReader("one.json", strings.NewReader(provisioned("heron"))),
			source.FromReader("pod.yaml", strings.NewReader(podOfManager)),
		}, false)
		assert.Truef(t, len(found.Results) > 0, "with %d nodes nothing is found", yamledit.Most.Nodes)
	}
}
