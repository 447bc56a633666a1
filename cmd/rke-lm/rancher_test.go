// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform"
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
func managing(t *testing.T) (r *ranchertest.Server, to string) {
	t.Helper()
	r = ranchertest.Start(t)
	for _, text := range []string{harbourText, curlewText, importedText, localText} {
		r.Put(t, text)
	}
	settle(t, r, `{"cloud-provider-name":"aws","agent-token":"hunter2hunter2"}`)
	return r, flagsTo(t, r)
}

func flagsTo(t *testing.T, r *ranchertest.Server) string {
	return strings.Join([]string{" --rancher-url", r.URL(), "--cacert", r.Authority(t), "--token-file", r.TokenFile(t)}, " ")
}

// settle does what Rancher does with a change of harbour, whose machine then has
// this configuration.
func settle(t *testing.T, r *ranchertest.Server, config string) {
	t.Helper()
	o := parsedYAML(t, r.Object(harbourPath))
	spec, _ := field(o, "spec", "rkeConfig").(map[string]any)
	spec["kubernetesVersion"] = field(o, "spec", "kubernetesVersion")
	put := func(v map[string]any) { r.Put(t, string(assert.Value(json.Marshal(v))(t))) }
	put(map[string]any{"apiVersion": "rke.cattle.io/v1", "kind": "RKEControlPlane", "metadata": map[string]any{"name": "harbour", "namespace": "fleet-default", "generation": 1}, "spec": spec,
		"status": map[string]any{"observedGeneration": 1, "appliedSpec": spec, "conditions": []any{map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Reconciled", "status": "True"}}}})
	put(map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": map[string]any{"name": "m-1", "namespace": "fleet-default", "labels": map[string]any{
		"cluster.x-k8s.io/cluster-name": "harbour", "rke.cattle.io/rke-machine-pool-name": "all", "rke.cattle.io/control-plane-role": "true", "rke.cattle.io/etcd-role": "true", "rke.cattle.io/worker-role": "true"}},
		"spec": map[string]any{"bootstrap": map[string]any{"configRef": map[string]any{"kind": "RKEBootstrap", "name": "m-1"}}}, "status": map[string]any{"nodeRef": map[string]any{"name": "ip-10-0-0-1"}}})
	plan := []byte(`{"files":[{"path":"/etc/rancher/rke2/config.yaml.d/50-rancher.yaml","content":"` + base64.StdEncoding.EncodeToString([]byte(config)) + `"}]}`)
	put(map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "rke.cattle.io/machine-plan", "metadata": map[string]any{"name": "m-1-machine-plan", "namespace": "fleet-default", "labels": map[string]any{"rke.cattle.io/machine-name": "m-1"}},
		"data": map[string]any{"plan": plan, "appliedPlan": plan}})
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
		{"a plan", nil, "plan --cluster harbour", transform.ExitDone, []string{"rke2 fleet-default/harbour v1.26.15+rke2r1", "grant-migration-lease ", "+++ b/fleet-default/harbour", "+ kind: RoleBinding ", "enable-leader-migration"}},
		{"all clusters of a selector", nil, "plan -l env=prod -o json", transform.ExitDone, []string{`"name": "c-x7k2p", "namespace": "", "distro": "rke1"`, `"file": "c-x7k2p (curlew)"`, `"name": "harbour", "namespace": "fleet-default", "distro": "rke2"`, `!"name": "guest"`, `!"name": "local"`}},
		{"all clusters", nil, "status", transform.ExitDone, []string{"c-x7k2p (curlew) v1.26.15-rancher1-1 aws ", "fleet-default/harbour v1.26.15+rke2r1 aws ", "!LEADERMIGRATION", "!" + noted}},
		{"some clusters", nil, "status -l env=prod", transform.ExitDone, []string{"c-x7k2p (curlew) ", "fleet-default/harbour ", "!guest", "!local"}},

		{"who manages a cluster, in a plan", argo, "plan --cluster harbour", transform.ExitDone, []string{"error managed-elsewhere fleet-default/harbour metadata"}},
		{"who manages a cluster, in lint", argo, "lint --cluster harbour -o json", transform.ExitFound, []string{`"managed-elsewhere"`}},
		{"who manages a cluster, in status", argo, "status -o json", transform.ExitDone, []string{`"errors": 1`}},
		{"a cluster of Fleet", annotate("objectset.rio.cattle.io/id", "default-clusters"), "apply --next --cluster harbour", transform.ExitRefused, []string{"managed-elsewhere"}},
		{"one that changed meanwhile", func(_ *testing.T, r *ranchertest.Server) {
			r.Do(func() {
				r.Meanwhile = func(o map[string]any) {
					o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["additionalManifest"] = "a: b\n"
				}
			})
		}, "apply --next --cluster harbour", transform.ExitRefused, []string{"has changed in the meantime; nothing was written"}},
		{"one that the user must not patch", func(_ *testing.T, r *ranchertest.Server) { r.Do(func() { r.Denied["patch clusters"] = true }) }, "apply --next --cluster harbour", transform.ExitRefused, []string{"patch clusters.provisioning.cattle.io harbour in fleet-default"}},
		{"one that a webhook denies", func(_ *testing.T, r *ranchertest.Server) {
			r.Do(func() { r.Refuse = func(map[string]any) string { return "spec: Invalid value" } })
		}, "apply --next --cluster harbour", transform.ExitRefused, []string{"; correct the object, or ask the administrators of this Rancher"}},
		{"an imported one", nil, "apply --next --cluster guest", transform.ExitRefused, []string{"imported or hosted"}},
		{"Rancher's own", nil, "apply --next --cluster fleet-local/local", transform.ExitRefused, []string{"Rancher itself runs on"}},
		{"a stage out of its order", nil, "apply --stage switch-to-external --cluster harbour", transform.ExitRefused, []string{"comes before"}},

		{"clusters next to those that must not be seen", gated, "status", transform.ExitRefused, []string{"fleet-default/harbour v1.26.15+rke2r1 aws in-tree ", "RKE1 clusters - - - - - " + gate, "fleet-default/c-x7k2p - - - - - it is not known whether this is an RKE1 cluster: " + gate}},
		{"findings of those that may be seen", gated, "lint -l env=prod", transform.ExitRefused, []string{"fleet-default/harbour:", "error: RKE1 clusters: " + gate, "error: " + unknown, "!imported"}},
		{"a plan of one that must not be seen", gated, "plan --cluster curlew", transform.ExitRefused, []string{gate, "!imported"}},
		{"a stage of one", gated, "apply --next --cluster c-x7k2p", transform.ExitRefused, []string{gate, "!imported"}},
		{"a migration of one", gated, "migrate --yes --cluster curlew", transform.ExitRefused, []string{gate, "!imported"}},
		{"a rollback of one", gated, "rollback --yes --cluster curlew", transform.ExitRefused, []string{gate, "!imported"}},
		{"the leaders of one", gated, "leaders --cluster fleet-default/c-x7k2p", transform.ExitRefused, []string{gate, "!imported"}},

		{"LeaderMigrations", leaderMigrations, "status", transform.ExitDone, []string{
			"REACHED NEXT LEADERMIGRATION FINDINGS", "fleet-default/harbour v1.26.15+rke2r1 aws in-tree - grant-migration-lease rke-lm/staging 1 warning", "c-x7k2p (curlew) v1.26.15-rancher1-1 aws in-tree - grant-migration-lease rke-lm/staging - ",
			"fleet-default/guest - - - - - - fleet-default/guest:", "LEADERMIGRATION CONDITION REASON WAVE TOTAL", "rke-lm/staging Waiting Soaking small 2 1 0 1 0 0", "rke-lm/later - - - 0 ", "!" + noted,
		}},
		{"LeaderMigrations in JSON", leaderMigrations, "status -o json", transform.ExitDone, []string{`"warnings": 1, "leaderMigrations": [ "rke-lm/staging" ] }`, `"name": "rke-lm/staging", "condition": "Waiting", "reason": "Soaking", "message": "the wave small starts at noon"`, `"done": 1`}},
		{"one that cannot be decoded next to others", func(t *testing.T, r *ranchertest.Server) {
			leaderMigrations(t, r)
			r.Put(t, leaderMigration("later", `"timeout":"9999999h"`, "{}"))
		}, "status", transform.ExitDone, []string{"rke-lm/staging Waiting Soaking small 2 ", "rke-lm/later Failed InvalidSpec - 0 "}},
		// Without the permission a user is refused whether the definition is installed or not.
		{"no LeaderMigrations without permission", faulty("/leadermigrations", forbidden), "status", transform.ExitDone, []string{"fleet-default/harbour", "!" + noted, "!LEADERMIGRATION"}},
		{"LeaderMigrations without permission", func(t *testing.T, r *ranchertest.Server) {
			leaderMigrations(t, r)
			faulty("/leadermigrations", forbidden)(t, r)
		}, "status", transform.ExitDone, []string{"fleet-default/harbour", noted, "!LEADERMIGRATION"}},
		{"LeaderMigrations that cannot be read", func(t *testing.T, r *ranchertest.Server) {
			leaderMigrations(t, r)
			faulty("/leadermigrations", ranchertest.Fault{Status: http.StatusTeapot})(t, r)
		}, "status", transform.ExitDone, []string{"fleet-default/harbour", noted, "!LEADERMIGRATION"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onRancher(t, func(t *testing.T, r *ranchertest.Server, to string) {
				if c.change != nil {
					c.change(t, r)
				}
				out := runHere(t, "", strings.Fields(c.line+to)...)
				all := strings.Join(strings.Fields(out.stdout+"\n"+out.stderr), " ")
				assert.Equal(t, out.code, c.code, all)
				for _, part := range append(c.want, "!hunter2", "!managedFields", "!resourceVersion", "!observedGeneration") {
					never, is := strings.CutPrefix(part, "!")
					assert.Truef(t, strings.Contains(all, never) != is, "%q in\n%s", part, all)
				}
				assert.True(t, strings.Count(all, noted) <= 1, all)
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
	onRancher(t, func(t *testing.T, r *ranchertest.Server, to string) {
		r.Do(func() { r.Warning = "spec.rkeConfig.x is deprecated" })
		next := "apply --next --cluster harbour" + to
		shows(t, transform.ExitDone, "apply --next --cluster fleet-default/harbour"+to, "grant-migration-lease applied; Rancher now brings it", "the server warns: spec.rkeConfig.x is deprecated")
		assert.Contains(t, r.Object(harbourPath), "additionalManifest")
		shows(t, transform.ExitDone, "apply --stage grant-migration-lease --cluster harbour"+to, "nothing to do")
		shows(t, transform.ExitRefused, next, "cluster-not-settled")
		assert.Equal(t, r.Count("PATCH"), 1, "the change before has not arrived")
		settle(t, r, `{"cloud-provider-name":"aws"}`)
		shows(t, transform.ExitDone, next)
		assert.Contains(t, r.Object(harbourPath), "enable-leader-migration")
	})
}

func TestApplyNamesTheCommandThatChecksLiveClusters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for selector, want := range map[string]string{"--cluster=harbour": "--cluster fleet-default/harbour", "-l=env=prod": "--cluster CLUSTER"} {
			_, to := managing(t)
			out := runHere(t, "", strings.Fields("apply --stage enable-leader-migration --through "+selector+to)...)
			check := regexp.MustCompile(`wait for the rollout, and check it:\n  rke-lm verify --stage .* ` + want + "\n")
			assert.Truef(t, check.MatchString(out.stderr), "%s: exit %d\n%s", selector, out.code, out.stderr)
		}
	})
}

func TestApplyTakesAStageBackOfALiveCluster(t *testing.T) {
	t.Parallel()
	onRancher(t, func(t *testing.T, r *ranchertest.Server, to string) {
		spec := func() string {
			return string(decoded[struct {
				Spec json.RawMessage `json:"spec"`
			}](t, r.Object(harbourPath)).Spec)
		}
		before := spec()
		shows(t, transform.ExitDone, "apply --next --cluster harbour"+to)
		settle(t, r, `{"cloud-provider-name":"aws"}`)
		shows(t, transform.ExitDone, "apply --undo grant-migration-lease --canonical --cluster harbour"+to, "undone, applied")
		assert.Equal(t, spec(), before)
	})
}

func TestApplyPatchesAnEngine(t *testing.T) {
	t.Parallel()
	onRancher(t, func(t *testing.T, r *ranchertest.Server, to string) {
		shows(t, transform.ExitDone, "apply --stage enable-leader-migration --through --cluster curlew"+to)
		for _, part := range []string{`"enable-leader-migration":"true"`, `"v":"2"`} {
			assert.Contains(t, r.Object(curlewPath), part)
		}
	})
}

func TestADryRunOfALiveClusterKeepsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for flag, want := range map[string]string{"--dry-run": "would be applied\n", "--dry-run=server": "would be applied (server dry run)"} {
			for path, name := range map[string]string{harbourPath: "fleet-default/harbour", curlewPath: "c-x7k2p"} {
				r, to := managing(t)
				before := r.Object(path)
				shows(t, transform.ExitDone, "apply --next "+flag+" --cluster "+name+to, "+++ b/"+name, want, "!hunter2")
				patches := r.Count("dryRun=All")
				assert.Truef(t, r.Object(path) == before && (patches == 1) == (flag == "--dry-run=server") && r.Count("PATCH") == patches, "%s %s: %v", flag, name, r.Requests)
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
	onRancher(t, func(t *testing.T, r *ranchertest.Server, to string) {
		annotate("argocd.argoproj.io/tracking-id", "clusters")(t, r)
		r.Remove("/apis/rke.cattle.io/v1/namespaces/fleet-default/rkecontrolplanes/harbour")
		r.Do(func() { r.Denied["get secrets"] = true })
		shows(t, transform.ExitDone, "apply --next --cluster harbour --accept managed-elsewhere --accept cluster-not-settled"+to, "error managed-elsewhere, accepted")
		assert.True(t, strings.Contains(r.Object(harbourPath), "RoleBinding") && r.Count("/secrets") == 0, r.Requests)
	})
}

// What Rancher writes into the status does not make a saved plan stale; what others
// write into the specification does.
func TestASavedPlanIsAppliedToALiveCluster(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, to string) {
		t.Chdir(t.TempDir())
		shows(t, transform.ExitDone, "plan --cluster harbour --out plans"+to)
		book := runbooks(t)[0]
		assert.True(t, strings.Contains(book, "--stage grant-migration-lease --cluster fleet-default/harbour --rancher-url=https://") && !strings.Contains(book, "Manually: "), book)
		r.Edit(harbourPath, func(o map[string]any) { o["status"].(map[string]any)["ready"] = false })
		shows(t, transform.ExitDone, "apply --plan plans --next --cluster harbour"+to)
		assert.Contains(t, r.Object(harbourPath), "RoleBinding")
		r.Edit(harbourPath, func(o map[string]any) { o["spec"].(map[string]any)["kubernetesVersion"] = "v1.26.14+rke2r1" })
		shows(t, transform.ExitRefused, "apply --plan plans --next --cluster harbour"+to)
	})
}

// The gates of a runbook are commands of this version, and one for a stage that the cluster
// did not reach ends with an error after its time.
func TestTheGatesOfARunbookPassOnlyOnceTheStageIsDone(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, to string) {
		downstream := apitest.Start(t)
		downstream.Fill(5)
		r.Do(func() { r.Downstream["c-m-8kqlhbsd"] = downstream })
		t.Chdir(t.TempDir())
		shows(t, transform.ExitDone, "plan --cluster harbour --out plans"+to)
		book := textOf(t, "plans/fleet-default/harbour/runbook.md")
		for stage, code := range map[string]int{"install-ccm": transform.ExitDone, "switch-to-external": transform.ExitFound} {
			_, gate, found := strings.Cut(book, "\nrke-lm verify --stage "+stage+" ")
			gate, _, _ = strings.Cut(gate, "\n")
			assert.Mustf(t, found && strings.HasPrefix(gate, "--wait 60m --cluster fleet-default/harbour --rancher-url=https://"), "%s: %q", stage, gate)
			start := time.Now()
			out := shows(t, code, "verify --stage "+stage+" "+strings.Replace(gate, "60m", "5m", 1))
			assert.Truef(t, strings.HasSuffix(out.stdout, "\nok\n") == (code == transform.ExitDone), "%s: exit %d\n%s%s", stage, out.code, out.stdout, out.stderr)
			waited := time.Since(start)
			assert.Truef(t, waited <= 6*time.Minute && (code == transform.ExitDone || waited >= 4*time.Minute), "%s: it waited %s", stage, waited)
		}
	})
}

func TestVerifyAndOwnersReadThroughRancher(t *testing.T) {
	t.Parallel()
	onRancher(t, func(t *testing.T, r *ranchertest.Server, to string) {
		downstream := apitest.Start(t)
		downstream.Fill(5)
		r.Do(func() { r.Downstream["c-m-8kqlhbsd"] = downstream })
		shows(t, transform.ExitDone, "verify --cluster harbour --stage install-ccm"+to, "5 of 5")
		shows(t, transform.ExitDone, "leaders --cluster fleet-default/harbour --for 2s -o html"+to, `class="timeline"`, "<td>kube-controller-manager</td>")
		shows(t, transform.ExitDone, "leaders --cluster fleet-default/harbour --for 2s -o json"+to, `"kube-controller-manager"`)
	})
}

// A shell makes an empty flag of a variable that is not set; what is meant then is not
// the cluster of the kubeconfig, and not Rancher's own.
func TestAnEmptyFlagMeansNoOtherCluster(t *testing.T) {
	t.Parallel()
	onRancher(t, func(t *testing.T, r *ranchertest.Server, to string) {
		for _, line := range []string{"verify --cluster ''", "leaders --cluster=", "status -l ''", "migrate --yes --cluster ' '", "apply --next --cluster ''", "plan --cluster harbour --rancher-cli="} {
			shows(t, transform.ExitInput, line+to, " is empty; ")
		}
		assert.True(t, len(r.Requests) == 0, r.Requests)
		shows(t, transform.ExitInput, "plan --cluster harbour --rancher-url ''", "--rancher-url is empty; ")
		shows(t, transform.ExitDone, "explain --cluster '' --cluster harbour"+to) // the last one counts, as for every flag
	})
}

func TestTakingAnyCertificateIsWarnedOf(t *testing.T) {
	t.Parallel()
	onRancher(t, func(t *testing.T, r *ranchertest.Server, _ string) {
		out := shows(t, transform.ExitDone, "plan --cluster harbour --insecure-skip-tls-verify --rancher-url "+r.URL()+" --token-file "+r.TokenFile(t))
		assert.Equal(t, strings.Count(out.stderr, "WARNING: --insecure-skip-tls-verify"), 1, out.stderr)
	})
}

// onRancher runs a test over a Rancher, with the flags that lead to it.
func onRancher(t *testing.T, test func(t *testing.T, r *ranchertest.Server, to string)) {
	synctest.Test(t, func(t *testing.T) {
		r, to := managing(t)
		test(t, r, to)
	})
}
