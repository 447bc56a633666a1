// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

const (
	harbourPath = "/apis/provisioning.cattle.io/v1/namespaces/fleet-default/clusters/harbour"
	harbourText = `{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"harbour","namespace":"fleet-default","uid":"u-harbour","labels":{"env":"prod"},
 "managedFields":[{"manager":"rancher","operation":"Update","fieldsV1":{"f:spec":{}}}]},
 "spec":{"kubernetesVersion":"v1.26.15+rke2r1","rkeConfig":{"etcd":{"snapshotScheduleCron":"0 */5 * * *","snapshotRetention":5},
  "machineGlobalConfig":{"cloud-provider-name":"aws","agent-token":"hunter2hunter2"},
  "machinePools":[{"name":"all","quantity":1,"controlPlaneRole":true,"etcdRole":true,"workerRole":true,"machineConfigRef":{"kind":"Amazonec2Config","name":"nc-1"}}]}},
 "status":{"clusterName":"c-m-8kqlhbsd","ready":true,"observedGeneration":1}}`
	curlewID   = "c-x7k2p"
	curlewPath = "/apis/management.cattle.io/v3/clusters/" + curlewID
	curlewText = `{"apiVersion":"management.cattle.io/v3","kind":"Cluster","metadata":{"name":"c-x7k2p","uid":"u-curlew","labels":{"env":"prod"}},
 "spec":{"displayName":"curlew","rancherKubernetesEngineConfig":{"kubernetesVersion":"v1.26.15-rancher1-1","cloudProvider":{"name":"aws"},"services":{"kubeController":{"extraArgs":{"v":"2"}}}}},
 "status":{"appliedSpec":{"rancherKubernetesEngineConfig":{"kubernetesVersion":"v1.26.15-rancher1-1","cloudProvider":{"name":"aws"},"services":{"kubeController":{"extraArgs":{"v":"2"}}}}},
  "conditions":[{"type":"Updated","status":"True"},{"type":"Provisioned","status":"True"},{"type":"Ready","status":"True"}]}}`
	importedText = `{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"guest","namespace":"fleet-default"},"spec":{},"status":{"clusterName":"c-m-zzzzzzzz"}}`
	localText    = `{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"local","namespace":"fleet-local"},"spec":{},"status":{"clusterName":"local"}}`
)

// managing starts a Rancher with clusters that are settled, and returns the flags
// that lead to it.
func managing(t *testing.T) (*ranchertest.Server, []string) {
	t.Helper()
	r := ranchertest.Start(t)
	for _, text := range []string{harbourText, curlewText, importedText, localText} {
		r.Put(t, text)
	}
	settle(t, r, `{"cloud-provider-name":"aws","agent-token":"hunter2hunter2"}`)
	return r, []string{"--rancher-url", r.URL(), "--cacert", r.Authority(t), "--token-file", r.TokenFile(t)}
}

// settle does what Rancher does with a change of harbour, whose machine then has
// this configuration.
func settle(t *testing.T, r *ranchertest.Server, config string) {
	t.Helper()
	var o struct {
		Spec struct {
			Version string         `json:"kubernetesVersion"`
			Config  map[string]any `json:"rkeConfig"`
		} `json:"spec"`
	}
	assert.NilError(t, json.Unmarshal([]byte(r.Object(harbourPath)), &o))
	o.Spec.Config["kubernetesVersion"] = o.Spec.Version
	put := func(v map[string]any) {
		text := assert.Value(json.Marshal(v))(t)
		r.Put(t, string(text))
	}
	put(map[string]any{"apiVersion": "rke.cattle.io/v1", "kind": "RKEControlPlane", "metadata": map[string]any{"name": "harbour", "namespace": "fleet-default", "generation": 1}, "spec": o.Spec.Config,
		"status": map[string]any{"observedGeneration": 1, "appliedSpec": o.Spec.Config, "conditions": []any{map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Reconciled", "status": "True"}}}})
	put(map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": map[string]any{"name": "m-1", "namespace": "fleet-default", "labels": map[string]any{
		"cluster.x-k8s.io/cluster-name": "harbour", "rke.cattle.io/rke-machine-pool-name": "all", "rke.cattle.io/control-plane-role": "true", "rke.cattle.io/etcd-role": "true", "rke.cattle.io/worker-role": "true"}},
		"spec": map[string]any{"bootstrap": map[string]any{"configRef": map[string]any{"kind": "RKEBootstrap", "name": "m-1"}}}, "status": map[string]any{"nodeRef": map[string]any{"name": "ip-10-0-0-1"}}})
	plan := []byte(`{"files":[{"path":"/etc/rancher/rke2/config.yaml.d/50-rancher.yaml","content":"` + base64.StdEncoding.EncodeToString([]byte(config)) + `"}]}`)
	put(map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "rke.cattle.io/machine-plan", "metadata": map[string]any{"name": "m-1-machine-plan", "namespace": "fleet-default", "labels": map[string]any{"rke.cattle.io/machine-name": "m-1"}},
		"data": map[string]any{"plan": plan, "appliedPlan": plan}})
}

// runAt runs a verb on a Rancher.
func runAt(t *testing.T, flags []string, args ...string) ran {
	t.Helper()
	return runHere(t, "", append(args, flags...)...)
}

// faulty lets requests whose path ends so fail.
func faulty(end string, f ranchertest.Fault) func(*testing.T, *ranchertest.Server) {
	return func(_ *testing.T, r *ranchertest.Server) {
		r.Do(func() {
			r.Fault = func(req *http.Request) ranchertest.Fault {
				if strings.HasSuffix(req.URL.Path, end) {
					return f
				}
				return ranchertest.Fault{}
			}
		})
	}
}

// forbidden is what an API server answers who has no permission.
var forbidden = ranchertest.Fault{Status: 403, Body: `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"message":"it is forbidden: User \"u-abcde\" cannot list resource"}`}

// gated lets the user get all but the cluster local.
func gated(t *testing.T, r *ranchertest.Server) {
	r.Put(t, `{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"c-x7k2p","namespace":"fleet-default","labels":{"env":"prod"}},"spec":{},"status":{"clusterName":"c-x7k2p"}}`)
	r.Do(func() { r.Gated = true })
}

// A verb that writes nothing, because it never does or because it refuses, prints some texts, and others, which begin with !, never.
func TestVerbsShowWhatARancherHasAndWriteNothing(t *testing.T) {
	const (
		gate    = "missing permissions: get clusters.management.cattle.io local"
		unknown = "fleet-default/c-x7k2p: it is not known whether this is an RKE1 cluster: " + gate
		noted   = "LeaderMigrations are not shown"
	)
	argo := annotate("argocd.argoproj.io/tracking-id", "clusters")
	for _, c := range []struct {
		name   string
		change func(*testing.T, *ranchertest.Server)
		line   string
		code   int
		want   []string
	}{
		{"a plan", nil, "plan --cluster harbour", exitcode.Done, []string{"rke2 fleet-default/harbour v1.26.15+rke2r1", "grant-migration-lease ", "+++ b/fleet-default/harbour", "+ kind: RoleBinding ", "enable-leader-migration"}},
		{"all clusters of a selector", nil, "plan -l env=prod -o json", exitcode.Done, []string{`"name": "c-x7k2p", "namespace": "", "distro": "rke1"`, `"file": "c-x7k2p (curlew)"`, `"name": "harbour", "namespace": "fleet-default", "distro": "rke2"`, `!"name": "guest"`}},
		{"all clusters", nil, "status", exitcode.Done, []string{"c-x7k2p (curlew) v1.26.15-rancher1-1 aws ", "fleet-default/harbour v1.26.15+rke2r1 aws ", "!LEADERMIGRATION"}},
		{"some clusters", nil, "status -l env=prod", exitcode.Done, []string{"c-x7k2p (curlew) ", "fleet-default/harbour ", "!guest", "!local"}},

		{"who manages a cluster, in a plan", argo, "plan --cluster harbour", exitcode.Done, []string{"error managed-elsewhere fleet-default/harbour metadata"}},
		{"who manages a cluster, in lint", argo, "lint --cluster harbour -o json", exitcode.Found, []string{`"managed-elsewhere"`}},
		{"who manages a cluster, in status", argo, "status -o json", exitcode.Done, []string{`"errors": 1`}},
		{"a cluster of Fleet", annotate("objectset.rio.cattle.io/id", "default-clusters"), "apply --next --cluster harbour", exitcode.Refused, []string{"managed-elsewhere"}},
		{"one that changed meanwhile", func(_ *testing.T, r *ranchertest.Server) {
			r.Do(func() {
				r.Meanwhile = func(o map[string]any) {
					o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["additionalManifest"] = "a: b\n"
				}
			})
		}, "apply --next --cluster harbour", exitcode.Refused, []string{"has changed in the meantime; nothing was written"}},
		{"one that the user must not patch", func(_ *testing.T, r *ranchertest.Server) { r.Do(func() { r.Denied["patch clusters"] = true }) }, "apply --next --cluster harbour", exitcode.Refused, []string{"patch clusters.provisioning.cattle.io harbour in fleet-default"}},
		{"one that a webhook denies", func(_ *testing.T, r *ranchertest.Server) {
			r.Do(func() { r.Refuse = func(map[string]any) string { return "spec: Invalid value" } })
		}, "apply --next --cluster harbour", exitcode.Refused, []string{"; correct the object, or ask the administrators of this Rancher"}},
		{"an imported one", nil, "apply --next --cluster guest", exitcode.Refused, []string{"imported or hosted"}},
		{"Rancher's own", nil, "apply --next --cluster fleet-local/local", exitcode.Refused, []string{"Rancher itself runs on"}},
		{"a stage out of its order", nil, "apply --stage switch-to-external --cluster harbour", exitcode.Refused, []string{"comes before"}},

		{"clusters next to those that must not be seen", gated, "status", exitcode.Refused, []string{"fleet-default/harbour v1.26.15+rke2r1 aws in-tree ", "RKE1 clusters - - - - - " + gate, "fleet-default/c-x7k2p - - - - - it is not known whether this is an RKE1 cluster: " + gate}},
		{"findings of those that may be seen", gated, "lint -l env=prod", exitcode.Refused, []string{"fleet-default/harbour:", "error: RKE1 clusters: " + gate, "error: " + unknown, "!imported"}},
		{"a plan of one that must not be seen", gated, "plan --cluster curlew", exitcode.Refused, []string{gate, "!imported"}},
		{"a stage of one", gated, "apply --next --cluster c-x7k2p", exitcode.Refused, []string{gate, "!imported"}},
		{"a migration of one", gated, "migrate --yes --cluster curlew", exitcode.Refused, []string{gate, "!imported"}},
		{"a rollback of one", gated, "rollback --yes --cluster curlew", exitcode.Refused, []string{gate, "!imported"}},
		{"the leaders of one", gated, "leaders --cluster fleet-default/c-x7k2p", exitcode.Refused, []string{gate, "!imported"}},

		{"LeaderMigrations", leaderMigrations, "status", exitcode.Done, []string{
			"REACHED NEXT LEADERMIGRATION FINDINGS", "fleet-default/harbour v1.26.15+rke2r1 aws in-tree - grant-migration-lease rke-lm/staging 1 warning", "c-x7k2p (curlew) v1.26.15-rancher1-1 aws in-tree - grant-migration-lease rke-lm/staging - ",
			"fleet-default/guest - - - - - - fleet-default/guest:", "LEADERMIGRATION CONDITION REASON WAVE TOTAL", "rke-lm/staging Waiting Soaking small 2 1 0 1 0 0", "rke-lm/later - - - 0 ", "!" + noted,
		}},
		{"LeaderMigrations in JSON", leaderMigrations, "status -o json", exitcode.Done, []string{`"warnings": 1, "leaderMigrations": [ "rke-lm/staging" ] }`, `"name": "rke-lm/staging", "condition": "Waiting", "reason": "Soaking", "message": "the wave small starts at noon"`, `"done": 1`}},
		{"one that cannot be decoded next to others", func(t *testing.T, r *ranchertest.Server) {
			leaderMigrations(t, r)
			r.Put(t, leaderMigration("later", `"timeout":"9999999h"`, "{}"))
		}, "status", exitcode.Done, []string{"rke-lm/staging Waiting Soaking small 2 ", "rke-lm/later Failed InvalidSpec - 0 "}},
		// Without the permission a user is refused whether the definition is installed or not.
		{"no LeaderMigrations without permission", faulty("/leadermigrations", forbidden), "status", exitcode.Done, []string{"fleet-default/harbour", "!" + noted, "!LEADERMIGRATION"}},
		{"LeaderMigrations without permission", func(t *testing.T, r *ranchertest.Server) {
			leaderMigrations(t, r)
			faulty("/leadermigrations", forbidden)(t, r)
		}, "status", exitcode.Done, []string{"fleet-default/harbour", noted, "!LEADERMIGRATION"}},
		{"LeaderMigrations that cannot be read", func(t *testing.T, r *ranchertest.Server) {
			leaderMigrations(t, r)
			faulty("/leadermigrations", ranchertest.Fault{Status: http.StatusTeapot})(t, r)
		}, "status", exitcode.Done, []string{"fleet-default/harbour", noted, "!LEADERMIGRATION"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onRancher(t, func(t *testing.T, r *ranchertest.Server, flags []string) {
				if c.change != nil {
					c.change(t, r)
				}
				out := runAt(t, flags, strings.Fields(c.line)...)
				all := strings.Join(strings.Fields(out.stdout+"\n"+out.stderr), " ")
				assert.Equal(t, out.code, c.code, all)
				for _, part := range append(c.want, "!hunter2", "!managedFields", "!resourceVersion", "!observedGeneration") {
					never, is := strings.CutPrefix(part, "!")
					assert.Truef(t, strings.Contains(all, never) != is, "%q in\n%s", part, all)
				}
				assert.True(t, !strings.Contains(r.Object(harbourPath), "RoleBinding"), "it is changed")
				assert.Truef(t, !strings.HasPrefix(c.line, "plan") || r.Count("PATCH")+r.Count("/secrets") == 0, "%v", r.Requests)
			})
		})
	}
}

// leaderMigration is one, with a field of its specification and a status.
func leaderMigration(name, field, status string) string {
	return `{"apiVersion":"rke-lm.io/v1alpha1","kind":"LeaderMigration","metadata":{"name":"` + name + `","namespace":"rke-lm"},"spec":{"selector":{},` + field + `},"status":` + status + `}`
}

// leaderMigrations gives a Rancher two LeaderMigrations, of which one waits.
func leaderMigrations(t *testing.T, r *ranchertest.Server) {
	r.Put(t, leaderMigration("later", `"pause":false`, "{}"))
	r.Put(t, leaderMigration("staging", `"pause":false`, `{"wave":"small",
		"conditions":[{"type":"Complete","status":"False","reason":"Progressing","message":"1 of 2 clusters are done"},{"type":"Waiting","status":"True","reason":"Soaking","message":"the wave small starts at noon"}],
		"counts":{"total":2,"waiting":1,"running":0,"done":1,"failed":0,"skipped":0},"clusters":[{"name":"fleet-default/harbour","wave":"canary","state":"done"},{"name":"c-x7k2p","wave":"small","state":"waiting"}]}`))
}

func TestApplyPatchesALiveCluster(t *testing.T) {
	t.Parallel()
	onRancher(t, func(t *testing.T, r *ranchertest.Server, flags []string) {
		r.Do(func() { r.Warning = "spec.rkeConfig.x is deprecated" })
		out := runAt(t, flags, "apply", "--next", "--cluster", "fleet-default/harbour")
		assert.Mustf(t, out.code == exitcode.Done && strings.Contains(r.Object(harbourPath), "additionalManifest") && strings.Contains(out.stderr, "grant-migration-lease applied; Rancher now brings it") && strings.Contains(out.stderr, "the server warns: spec.rkeConfig.x is deprecated"), "exit %d\n%s%s\n%s", out.code, out.stdout, out.stderr, r.Object(harbourPath))
		if out := runAt(t, flags, "apply", "--stage", "grant-migration-lease", "--cluster", "harbour"); out.code != exitcode.Done || !strings.Contains(out.stderr, "nothing to do") || r.Count("PATCH") != 1 {
			t.Errorf("exit %d\n%s", out.code, out.stderr)
		}
		out = runAt(t, flags, "apply", "--next", "--cluster", "harbour")
		assert.Truef(t, out.code == exitcode.Refused && strings.Contains(out.stderr, "cluster-not-settled") && r.Count("PATCH") == 1, "the change before has not arrived: exit %d\n%s", out.code, out.stderr)
		settle(t, r, `{"cloud-provider-name":"aws"}`)
		out = runAt(t, flags, "apply", "--next", "--cluster", "harbour")
		assert.Truef(t, out.code == exitcode.Done && strings.Contains(r.Object(harbourPath), "enable-leader-migration"), "exit %d\n%s", out.code, out.stderr)
	})
}

func TestApplyNamesTheCommandThatChecksLiveClusters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for selector, want := range map[string]string{"--cluster=harbour": "--cluster fleet-default/harbour", "-l=env=prod": "--cluster CLUSTER"} {
			_, flags := managing(t)
			out := runAt(t, flags, "apply", "--stage", "enable-leader-migration", "--through", selector)
			_, check, _ := strings.Cut(out.stderr, "wait for the rollout, and check it:\n")
			line, _, _ := strings.Cut(check, "\n")
			assert.Truef(t, strings.HasPrefix(line, "  rke-lm verify --stage ") && strings.HasSuffix(line, want), "%s: exit %d\n%s", selector, out.code, out.stderr)
		}
	})
}

func TestApplyTakesAStageBackOfALiveCluster(t *testing.T) {
	t.Parallel()
	onRancher(t, func(t *testing.T, r *ranchertest.Server, flags []string) {
		before := r.Object(harbourPath)
		runAt(t, flags, "apply", "--next", "--cluster", "harbour")
		settle(t, r, `{"cloud-provider-name":"aws"}`)
		out := runAt(t, flags, "apply", "--undo", "grant-migration-lease", "--canonical", "--cluster", "harbour")
		assert.Truef(t, out.code == exitcode.Done && strings.Contains(out.stderr, "undone, applied") && specOf(t, r.Object(harbourPath)) == specOf(t, before), "exit %d\n%s\n%s", out.code, out.stderr, r.Object(harbourPath))
	})
}

func specOf(t *testing.T, object string) string {
	t.Helper()
	var o struct {
		Spec json.RawMessage `json:"spec"`
	}
	assert.NilError(t, json.Unmarshal([]byte(object), &o))
	return string(o.Spec)
}

func TestApplyPatchesAnEngine(t *testing.T) {
	t.Parallel()
	onRancher(t, func(t *testing.T, r *ranchertest.Server, flags []string) {
		out := runAt(t, flags, "apply", "--stage", "enable-leader-migration", "--through", "--cluster", "curlew")
		assert.Truef(t, out.code == exitcode.Done && strings.Contains(r.Object(curlewPath), `"enable-leader-migration":"true"`) && strings.Contains(r.Object(curlewPath), `"v":"2"`), "exit %d\n%s\n%s", out.code, out.stderr, r.Object(curlewPath))
	})
}

func TestADryRunOfALiveClusterKeepsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for flag, want := range map[string]string{"--dry-run": "would be applied\n", "--dry-run=server": "would be applied (server dry run)"} {
			for path, name := range map[string]string{harbourPath: "fleet-default/harbour", curlewPath: "c-x7k2p"} {
				r, flags := managing(t)
				before := r.Object(path)
				out := runAt(t, flags, "apply", "--next", flag, "--cluster", name)
				assert.Truef(t, out.code == exitcode.Done && r.Object(path) == before && strings.Contains(out.stdout, "+++ b/"+name) && strings.Contains(out.stderr, want) && !strings.Contains(out.stdout, "hunter2"), "%s %s: exit %d\n%s%s", flag, name, out.code, out.stdout, out.stderr)
				patches := r.Count("dryRun=All")
				assert.Truef(t, (patches == 1) == (flag == "--dry-run=server") && r.Count("PATCH") == patches, "%s %s: %v", flag, name, r.Requests)
			}
		}
	})
}

func annotate(key, value string) func(*testing.T, *ranchertest.Server) {
	return func(_ *testing.T, r *ranchertest.Server) {
		r.Edit(harbourPath, func(o map[string]any) { o["metadata"].(map[string]any)["annotations"] = map[string]any{key: value} })
	}
}

func TestWhatWasAcknowledgedIsChanged(t *testing.T) {
	t.Parallel()
	onRancher(t, func(t *testing.T, r *ranchertest.Server, flags []string) {
		annotate("argocd.argoproj.io/tracking-id", "clusters")(t, r)
		r.Remove("/apis/rke.cattle.io/v1/namespaces/fleet-default/rkecontrolplanes/harbour")
		r.Do(func() { r.Denied["get secrets"] = true })
		out := runAt(t, flags, "apply", "--next", "--cluster", "harbour", "--accept", "managed-elsewhere", "--accept", "cluster-not-settled")
		assert.Truef(t, out.code == exitcode.Done && strings.Contains(out.stderr, "error managed-elsewhere, accepted") && strings.Contains(r.Object(harbourPath), "RoleBinding") && r.Count("/secrets") == 0, "exit %d\n%s", out.code, out.stderr)
	})
}

// What Rancher writes into the status does not make a saved plan stale; what others
// write into the specification does.
func TestASavedPlanIsAppliedToALiveCluster(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, flags []string) {
		t.Chdir(t.TempDir())
		if out := runAt(t, flags, "plan", "--cluster", "harbour", "--out", "plans"); out.code != exitcode.Done {
			t.Fatalf("exit %d\n%s%s", out.code, out.stdout, out.stderr)
		}
		book, err := os.ReadFile(filepath.Join("plans", "fleet-default", "harbour", "runbook.md"))
		assert.Truef(t, err == nil && strings.Contains(string(book), "--stage grant-migration-lease --cluster fleet-default/harbour --rancher-url=https://") && !strings.Contains(string(book), "Manually: "), "%v\n%s", err, book)
		r.Edit(harbourPath, func(o map[string]any) { o["status"].(map[string]any)["ready"] = false })
		out := runAt(t, flags, "apply", "--plan", "plans", "--next", "--cluster", "harbour")
		assert.Truef(t, out.code == exitcode.Done && strings.Contains(r.Object(harbourPath), "RoleBinding"), "exit %d\n%s", out.code, out.stderr)
		r.Edit(harbourPath, func(o map[string]any) { o["spec"].(map[string]any)["kubernetesVersion"] = "v1.26.14+rke2r1" })
		if out := runAt(t, flags, "apply", "--plan", "plans", "--next", "--cluster", "harbour"); out.code != exitcode.Refused {
			t.Errorf("a stale plan is applied: exit %d\n%s", out.code, out.stderr)
		}
	})
}

// The gates of a runbook are commands of this version, and one for a stage that the cluster
// did not reach ends with an error after its time.
func TestTheGatesOfARunbookPassOnlyOnceTheStageIsDone(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, flags []string) {
		downstream := apitest.Start(t)
		downstream.Fill(5)
		r.Do(func() { r.Downstream["c-m-8kqlhbsd"] = downstream })
		t.Chdir(t.TempDir())
		out := runAt(t, flags, "plan", "--cluster", "harbour", "--out", "plans")
		assert.Mustf(t, out.code == exitcode.Done, "exit %d\n%s%s", out.code, out.stdout, out.stderr)
		book := textOf(t, "plans/fleet-default/harbour/runbook.md")
		for stage, code := range map[string]int{"install-ccm": exitcode.Done, "switch-to-external": exitcode.Found} {
			_, gate, found := strings.Cut(book, "\nrke-lm verify --stage "+stage+" ")
			gate, _, _ = strings.Cut(gate, "\n")
			assert.Mustf(t, found && strings.HasPrefix(gate, "--wait 60m --cluster fleet-default/harbour --rancher-url=https://"), "%s: %q", stage, gate)
			start := time.Now()
			out := runAt(t, nil, append([]string{"verify", "--stage", stage}, strings.Fields(gate)...)...)
			assert.Truef(t, out.code == code && strings.HasSuffix(out.stdout, "\nok\n") == (code == exitcode.Done), "%s: exit %d\n%s%s", stage, out.code, out.stdout, out.stderr)
			waited := time.Since(start)
			assert.Truef(t, waited <= action.RolloutTime+time.Minute && (code == exitcode.Done || waited >= action.RolloutTime-time.Minute), "%s: it waited %s", stage, waited)
		}
	})
}

func TestVerifyAndOwnersLookThroughRancher(t *testing.T) {
	t.Parallel()
	onRancher(t, func(t *testing.T, r *ranchertest.Server, flags []string) {
		downstream := apitest.Start(t)
		downstream.Fill(5)
		r.Do(func() { r.Downstream["c-m-8kqlhbsd"] = downstream })
		out := runAt(t, flags, "verify", "--cluster", "harbour", "--stage", "install-ccm")
		assert.Truef(t, out.code == exitcode.Done && strings.Contains(out.stdout, "5 of 5"), "exit %d\n%s%s", out.code, out.stdout, out.stderr)
		out = runAt(t, flags, "leaders", "--cluster", "fleet-default/harbour", "--for", "2s", "-o", "html")
		assert.Truef(t, out.code == exitcode.Done && strings.Contains(out.stdout, `class="timeline"`) && strings.Contains(out.stdout, "<td>kube-controller-manager</td>"), "exit %d\n%s%s", out.code, out.stdout, out.stderr)
		out = runAt(t, flags, "leaders", "--cluster", "fleet-default/harbour", "--for", "2s", "-o", "json")
		assert.Truef(t, out.code == exitcode.Done && strings.Contains(out.stdout, `"kube-controller-manager"`), "exit %d\n%s%s", out.code, out.stdout, out.stderr)
	})
}

// A shell makes an empty flag of a variable that is not set; what is meant then is not
// the cluster of the kubeconfig, and not Rancher's own.
func TestAnEmptyFlagMeansNoOtherCluster(t *testing.T) {
	t.Parallel()
	onRancher(t, func(t *testing.T, r *ranchertest.Server, flags []string) {
		for _, args := range [][]string{
			{"verify", "--cluster", ""}, {"leaders", "--cluster="}, {"status", "-l", ""}, {"migrate", "--yes", "--cluster", " "}, {"apply", "--next", "--cluster", ""},
			{"plan", "--cluster", "harbour", "--rancher-cli="},
		} {
			out := runAt(t, flags, args...)
			assert.Truef(t, out.code == exitcode.Input && strings.Contains(out.stderr, " is empty; "), "%q: exit %d\n%s%s", args, out.code, out.stdout, out.stderr)
		}
		assert.True(t, len(r.Requests) == 0, r.Requests)
		out := runHere(t, "", "plan", "--cluster", "harbour", "--rancher-url", "")
		assert.Truef(t, out.code == exitcode.Input && strings.Contains(out.stderr, "--rancher-url is empty; "), "exit %d\n%s%s", out.code, out.stdout, out.stderr)
		// The last one counts, as for every flag.
		if out := runAt(t, flags, "explain", "--cluster", "", "--cluster", "harbour"); out.code != exitcode.Done {
			t.Errorf("exit %d\n%s", out.code, out.stderr)
		}
	})
}

func TestTakingAnyCertificateIsWarnedOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := managing(t)
		out := runHere(t, "", "plan", "--cluster", "harbour", "--rancher-url", r.URL(), "--token-file", r.TokenFile(t), "--insecure-skip-tls-verify")
		assert.Truef(t, out.code == exitcode.Done && strings.Count(out.stderr, "WARNING: --insecure-skip-tls-verify") == 1, "exit %d\n%s", out.code, out.stderr)
	})
}

// onRancher runs a test over a Rancher, with the flags that lead to it.
func onRancher(t *testing.T, test func(t *testing.T, r *ranchertest.Server, flags []string)) {
	synctest.Test(t, func(t *testing.T) {
		r, flags := managing(t)
		test(t, r, flags)
	})
}
