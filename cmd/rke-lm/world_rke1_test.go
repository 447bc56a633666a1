// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/migrate"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	engineID   = "c-x7k2p"
	enginePath = "/apis/management.cattle.io/v3/clusters/c-x7k2p"
	engineText = `{"apiVersion":"management.cattle.io/v3","kind":"Cluster","metadata":{"name":"c-x7k2p","uid":"u-curlew","generation":1},
 "spec":{"displayName":"curlew","rancherKubernetesEngineConfig":{"kubernetesVersion":"v1.26.15-rancher1-1",
  "cloudProvider":{"name":"aws","useInstanceMetadataHostname":true},"addons":"kind: ConfigMap\napiVersion: v1\nmetadata: {name: own, namespace: default}\n",
  "services":{"kubeController":{"extraArgs":{"v":"2"}}}}}}`
	// helmScript is a helm that does nothing but say how it was called: the chart's
	// values are with the request that comes next.
	helmScript = `#!/bin/sh
[ -z "$RANCHER_TOKEN" ] || exit 9
{ echo "$@"; while [ $# -gt 1 ]; do if [ "$1" = --values ]; then cat "$2"; fi; shift; done; } > "$HELM_SAYS.new"
cp "$KUBECONFIG" "$HELM_SAYS.kubeconfig"
pwd > "$HELM_SAYS.folder"
mv "$HELM_SAYS.new" "$HELM_SAYS"
`
)

// engineWorld is a world with a cluster of RKE, whose chart comes by a helm on the
// PATH.
func engineWorld(t *testing.T) *world {
	t.Helper()
	w := bareWorld(t, engineID)
	w.path, w.distro, w.follow = enginePath, rke1.Distro(), w.up
	for i := range w.api.Nodes {
		delete(w.api.Nodes[i].Labels, "node-role.kubernetes.io/control-plane")
		w.api.Nodes[i].Labels["node-role.kubernetes.io/controlplane"] = "true"
	}
	folder := t.TempDir()
	w.helm = filepath.Join(folder, "says")
	if err := os.WriteFile(filepath.Join(folder, "helm"), []byte(helmScript), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("HELM_SAYS", w.helm)
	w.rancher.Put(t, engineText)
	w.follow()
	return w
}

// up is what RKE does: it applies the configuration, and releases all Nodes.
func (w *world) up() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stuck {
		return
	}
	w.rancher.Edit(w.path, func(o map[string]any) {
		condition := func(name string) any { return map[string]any{"type": name, "status": "True"} }
		o["status"] = map[string]any{"appliedSpec": o["spec"], "conditions": []any{condition("Updated"), condition("Provisioned"), condition("Ready")}}
	})
	w.api.Do(func() {
		for i := range w.api.Nodes {
			w.api.Nodes[i].Spec.Unschedulable = false
		}
	})
	w.engineLocked()
}

// engineLocked starts the managers that the configuration and helm ask for.
func (w *world) engineLocked() {
	var o struct {
		Spec struct {
			Config struct {
				CloudProvider struct{ Name string }
				Services      struct {
					KubeController struct{ ExtraArgs map[string]string }
				}
			} `json:"rancherKubernetesEngineConfig"`
		}
	}
	if err := json.Unmarshal([]byte(w.rancher.Object(w.path)), &o); err != nil {
		panic(err)
	}
	if left, err := os.ReadFile(w.helm + leftSuffix); err == nil {
		w.objects[recordPath+"v1"] = strings.TrimSpace(string(left))
		os.Remove(w.helm + leftSuffix)
	}
	var cloud []args.Arg
	tag := ""
	text, err := os.ReadFile(w.helm)
	if line, values, called := strings.Cut(string(text), "\n"); err == nil && called && strings.HasPrefix(line, "upgrade") {
		d, err := yamledit.ParseString("values", values)
		if err != nil {
			panic(err)
		}
		cloud = args.Of(d.Root().Get("args").Value())
		tag, _ = d.Root().Get("image", "tag").String()
	}
	w.api.Do(func() {
		w.pods(nil, textsOf(cloud), tag)
		w.api.Secrets = nil
		if len(cloud) > 0 {
			w.api.Secrets = append(w.api.Secrets, record("v1", "deployed"))
		}
		for path, status := range w.objects {
			if revision, is := strings.CutPrefix(path, recordPath); is {
				w.api.Secrets = append(w.api.Secrets, record(revision, status))
			}
		}
	})
	_, joins := args.Last(cloud, "enable-leader-migration")
	migrates := o.Spec.Config.Services.KubeController.ExtraArgs["enable-leader-migration"] == "true"
	w.lead(o.Spec.Config.CloudProvider.Name == "aws", migrates, len(cloud) > 0, joins)
}

// recordPath begins the paths of the records of helms that are not at their end; the
// object behind it is the status.
const recordPath = "/api/v1/namespaces/kube-system/secrets/sh.helm.release.v1.aws-cloud-controller-manager."

// leftSuffix ends the name of the file in which a helm that fails says which record
// it leaves.
const leftSuffix = ".left"

// record is what helm keeps of a release.
func record(revision, status string) corev1.Secret {
	return corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kube-system", Name: "sh.helm.release.v1.aws-cloud-controller-manager." + revision, CreationTimestamp: metav1.Unix(1741687087, 0),
		Labels: map[string]string{"owner": "helm", "name": "aws-cloud-controller-manager", "status": status},
	}}
}

func TestAHelmThatFailsSaysWhyWithoutSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := engineWorld(t)
		folder := t.TempDir()
		script := "#!/bin/sh\necho 'Error: chart not found, password=hunter2' >&2\nexit 1\n"
		if err := os.WriteFile(filepath.Join(folder, "helm"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
		err := w.run(t, "one", said(t)).Migrate(t.Context())
		if err == nil || exitcode.Of(err) != exitcode.Failed || !strings.Contains(err.Error(), "helm upgrade: exit status 1: Error: chart not found") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	})
}

func TestNodesThatRKEReleasedAreSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := engineWorld(t)
		w.api.Do(func() { w.api.Nodes[1].Spec.Unschedulable = true })
		var notes []string
		r := w.run(t, "one", func(e outputs.RunEvent) { notes = append(notes, e.Message) })
		r.Until = transform.GrantMigrationLease
		if err := r.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(notes, "\n"); strings.Count(said, "was cordoned before the run") != 1 || !strings.Contains(said, w.api.Nodes[1].Name) {
			t.Errorf("%s", said)
		}
	})
}

func TestMigrateTakesAClusterOfRKEThereAndBack(t *testing.T) {
	t.Setenv("RANCHER_TOKEN", "token-secret:xyz")
	synctest.Test(t, func(t *testing.T) {
		w := engineWorld(t)
		before := w.spec(t)
		if err := w.run(t, "one", said(t)).Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := w.spec(t)
		if !strings.Contains(s, `"external-aws"`) || strings.Contains(s, "enable-leader-migration") {
			t.Errorf("%s", s)
		}
		text, err := os.ReadFile(w.helm)
		if err != nil || !strings.Contains(string(text), "--values aws-ccm-values-final.yaml") || strings.Contains(string(text), "enable-leader-migration") {
			t.Errorf("%v %s", err, text)
		}
		folder, err := os.ReadFile(w.helm + ".folder")
		if _, gone := os.Stat(strings.TrimSpace(string(folder))); err != nil || !os.IsNotExist(gone) {
			t.Errorf("the folder of helm is left: %v %v", err, gone)
		}
		if config, err := os.ReadFile(w.helm + ".kubeconfig"); err != nil || !strings.Contains(string(config), "/k8s/clusters/"+engineID) {
			t.Errorf("%v %s", err, config)
		}
		w.writes = nil
		if err := w.run(t, "two", said(t)).Migrate(t.Context()); err != nil || len(w.writes) > 0 {
			t.Errorf("a second one: %v %v", err, w.writes)
		}
		r := w.run(t, "three", said(t))
		r.Planner.Target.Canonical = true
		if err := r.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after := w.spec(t); strings.Contains(after, "external-aws") || strings.Contains(after, "enable-leader-migration") || strings.Contains(after, "RoleBinding") {
			t.Errorf("%s\n%s", before, after)
		}
		if left := w.cordoned(); len(left) > 0 {
			t.Errorf("cordoned: %v", left)
		}
	})
}

func TestWithoutHelmTheStageSaysWhatToRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := engineWorld(t)
		t.Setenv("PATH", t.TempDir())
		err := w.run(t, "one", said(t)).Migrate(t.Context())
		if err == nil || exitcode.Of(err) != exitcode.Failed || !strings.Contains(err.Error(), "helm upgrade --install aws-cloud-controller-manager") {
			t.Fatalf("%v", err)
		}
		// Somebody runs it.
		if err := os.WriteFile(w.helm, []byte("upgrade by hand\n"+valuesOf(t, w)), 0o600); err != nil {
			t.Fatal(err)
		}
		w.follow()
		r := w.run(t, "two", said(t))
		r.Until = transform.UncordonControlPlane
		if err := r.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(w.spec(t), `"external-aws"`) {
			t.Error(w.spec(t))
		}
	})
}

// valuesOf are the chart's values of the plan.
func valuesOf(t *testing.T, w *world) string {
	t.Helper()
	d, err := yamledit.ParseString("curlew", w.rancher.Object(w.path))
	if err != nil {
		t.Fatal(err)
	}
	p, err := transform.Build(w.distro, transform.Only(d), transform.Target{EndState: transform.EndStateExternal})
	if err != nil {
		t.Fatal(err)
	}
	step, _ := p.Step(transform.InstallCCM)
	files, err := step.Files()
	if err != nil {
		t.Fatal(err)
	}
	return files[0].Content
}

func TestTheShortWayOfRKETakesTheSwitchBackBeforeTheChart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := engineWorld(t)
		for _, work := range []func(*migrate.Run, context.Context) error{(*migrate.Run).Migrate, (*migrate.Run).Rollback} {
			r := w.run(t, "run", said(t))
			r.Planner.Target.NoLeaderMigration, r.Planner.Target.Canonical = true, true
			if err := work(r, t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(w.helm)
		if s := w.spec(t); err != nil || strings.Contains(s, "external-aws") || !strings.HasPrefix(string(text), "uninstall") {
			t.Errorf("%v %s %s", err, text, s)
		}
	})
}
