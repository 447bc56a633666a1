// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/manifest"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Both managers read one file of their machine.
func TestStagesOfManifests(t *testing.T) {
	s := begin(t, "cp-1", "cp-2", "cp-3")
	s.migrate(s.alongManifests(document(t, "kubeadm/cloud-controller-manager.yaml")))
	s.read("/etc/leadermigration.conf")
	s.end("manifest")
}

// The controllers of the newer manager have other names, so each manager reads a file of its own.
func TestStagesOfManifestsWithANewerManager(t *testing.T) {
	s := begin(t, "cp-1", "cp-2", "cp-3")
	s.migrate(s.alongManifests(newerManifest(t)))
	s.read("/etc/leadermigration.conf", "/etc/cloud-controller-manager-leadermigration.conf")
	s.end("manifest-newer-ccm")
}

// newerManifest is the cloud-controller-manager of 1.28.
func newerManifest(t *testing.T) *yamledit.Document {
	t.Helper()
	text := string(document(t, "kubeadm/cloud-controller-manager.yaml").Bytes())
	doc := assert.Value(yamledit.ParseString("cloud-controller-manager.yaml", strings.Replace(text, ":v1.26.6", ":v1.28.1", 1)))(t)
	return doc
}

// alongManifests takes the manifests of both managers through their plans, stage by stage.
func (s *scenario) alongManifests(cloud *yamledit.Document) route {
	s.Helper()
	target := transform.Target{EndState: transform.EndStateExternal, LeaderMigrationConfig: transform.ConfigGenerate}
	kcm, ccm := planOf(s.T, manifest.Format(), document(s.T, "kubeadm/kube-controller-manager.yaml"), target), planOf(s.T, manifest.Format(), cloud, target)
	folder := kubeletFolder{operator: &operator{scenario: s}, kcm: kcm.Start[0]}
	folder.kubelets = "aws"
	w := route{start: folder.wanted()}
	w.transitions = append(folder.transitions(kcm, func(d *yamledit.Document) agent.Wanted { folder.kcm = d; return folder.wanted() }),
		folder.transitions(ccm, func(d *yamledit.Document) agent.Wanted { folder.ccm = d; return folder.wanted() })...)
	order := func(tr transition) int { return slices.Index(stages.Names(), tr.step.Stage.Name) }
	slices.SortStableFunc(w.transitions, func(a, b transition) int { return cmp.Compare(order(a), order(b)) })
	return w
}

// kubeletFolder is the folder of static pods, the same on every control plane.
type kubeletFolder struct {
	*operator
	kcm, ccm *yamledit.Document // the second comes and goes with its stage
}

func (f *kubeletFolder) wanted() agent.Wanted {
	f.Helper()
	w := assert.Value(agent.FromManifests(f.kcm, f.ccm, f.host()))(f)
	w.Manifests, w.External = f.related.Objects, f.kubelets == "external"
	return w
}

// read requires that managers were started with exactly these files of their machines, and that the one
// of the manager that stays is gone with the stage that ends leader migration.
func (s *scenario) read(files ...string) {
	s.Helper()
	var named []string
	for _, m := range s.cluster.Managers() {
		for _, a := range m.Args {
			if file, ok := strings.CutPrefix(a, "--leader-migration-config="+s.host()); ok && !slices.Contains(named, file) {
				named = append(named, file)
			}
		}
	}
	if !slices.Equal(named, files) {
		s.Errorf("managers were started with %v, want %v", named, files)
	}
	if _, err := os.Stat(filepath.Join(s.host(), files[len(files)-1])); !os.IsNotExist(err) {
		s.Error("the file that nothing mounts any more is still there:", err)
	}
}
