// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
)

// cluster is a live cluster after install-ccm.
func cluster(t *testing.T) (*apitest.Server, string) {
	t.Helper()
	s := apitest.Start(t)
	s.Fill(520)
	return s, s.Kubeconfig(t)
}

func TestVerifyAndStatusEndWithTheCodeOfWhatTheyFound(t *testing.T) {
	foreign := func(s *apitest.Server) { s.Nodes[7].Spec.ProviderID = "rke2://" + s.Nodes[7].Name }
	fault := func(part string, f apitest.Fault) func(*apitest.Server) {
		return func(s *apitest.Server) { s.Fault = on(part, f) }
	}
	for _, c := range []struct {
		name   string
		change func(*apitest.Server)
		line   string
		code   int
		want   []string
	}{
		{"nothing", func(*apitest.Server) {}, "verify", transform.ExitDone, []string{"520 of 520", "\nok\n"}},
		{"an owner, which it follows until its lease moves", func(*apitest.Server) {}, "verify --stage install-ccm -o json", transform.ExitDone, []string{`"ok": true`, `"owner": "kube-controller-manager"`, `"life": "live"`, `"findings": []`}},
		{"an error", foreign, "verify", transform.ExitFound, []string{"error provider-id-foreign  nodes/" + apitest.NodeName(7)}},
		{"an error that is accepted", foreign, "verify --accept provider-id-foreign", transform.ExitDone, []string{"error provider-id-foreign, accepted"}},
		{"no right on the lease", func(s *apitest.Server) { s.Denied["system:kube-controller-manager"] = true }, "verify", transform.ExitFound, []string{"error lease-rbac-missing"}},
		{"a right of the user that is missing", fault("/persistentvolumes", apitest.Fault{Status: 403}), "verify", transform.ExitRefused, []string{"list persistentvolumes"}},
		{"a wrong answer", fault("/nodes", apitest.Fault{Status: 200, Body: "<html>"}), "verify", transform.ExitFailed, []string{"no NodeList of Kubernetes"}},
		{"the wrong owner", func(*apitest.Server) {}, "verify --stage switch-to-external", transform.ExitFound, []string{"error lease-wrong-holder"}},
		// A policy that denies a write is no permission that a user could request.
		{"a webhook that denies a snapshot", func(s *apitest.Server) {
			s.Fault = func(r *http.Request) apitest.Fault {
				if r.Method != http.MethodPost || !strings.Contains(r.URL.Path, "/configmaps") {
					return apitest.Fault{}
				}
				return apitest.Fault{Status: 403, Body: `{"kind":"Status","apiVersion":"v1","message":"admission webhook \"w\" denied the request: labels cannot be empty"}`}
			}
		}, "verify --snapshot", transform.ExitRefused, []string{"labels cannot be empty", "!missing permissions:"}},
		{"clusters of a Rancher", func(s *apitest.Server) { s.Clusters = rancherClusters }, "status", transform.ExitDone, []string{
			`CLUSTER                VERSION          PROVIDER  SITUATION  REACHED      NEXT                   FINDINGS
orchard                v1.26.15+rke2r1  aws       migrating  install-ccm  -                      -
fleet-default/orchard  v1.26.15+rke2r1  aws       in-tree    -            grant-migration-lease  2 warnings
`, "\nfleet-local/local      -                -         -          -            -                      fleet-local/local:"}},
		// Who may not list what a cluster does not have is refused all the same.
		{"no Rancher", fault("/clusters", apitest.Fault{Status: 403}), "status", transform.ExitDone, []string{"install-ccm"}},
		{"a cluster that does not answer", fault("/nodes", apitest.Fault{Status: 403}), "status -o json", transform.ExitRefused, []string{`"problem": "missing permissions: list nodes`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
				s.Do(func() { c.change(s) })
				r := shows(t, c.code, c.line+" --kubeconfig "+config, c.want...)
				assert.Truef(t, !strings.HasPrefix(c.line, "verify --stage install-ccm -o json") || strings.Count(r.stdout, `"providerID"`) == 520, "%s", r.stdout)
				assert.Truef(t, c.code < transform.ExitInput || r.stdout == "" || strings.HasPrefix(c.line, "status"), "a verdict although nothing was seen:\n%s", r.stdout)
			})
		})
	}
}

func on(part string, f apitest.Fault) func(*http.Request) apitest.Fault {
	return func(r *http.Request) apitest.Fault {
		if strings.Contains(r.URL.String(), part) {
			return f
		}
		return apitest.Fault{}
	}
}

func TestVerifyComparesWithTheSnapshotThatItKept(t *testing.T) {
	t.Parallel()
	onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
		verify := "verify --kubeconfig " + config
		shows(t, transform.ExitDone, verify+" --snapshot", "snapshot of 520 nodes")
		file, dump := filepath.Join(t.TempDir(), "before.yaml"), filepath.Join(t.TempDir(), "dump.yaml")
		shows(t, transform.ExitDone, verify+" --snapshot="+file+" --dump "+dump)
		s.Do(func() { s.Nodes[9].UID = "another" })
		shows(t, transform.ExitFound, verify, "error node-renamed  nodes/"+apitest.NodeName(9))
		shows(t, transform.ExitRefused, verify+" --snapshot") // it would be overwritten
		shows(t, transform.ExitDone, "verify --from "+dump+" --against "+file)
	})
}

// A user who can list kube-system alone sees once what that leaves out.
func TestOwnersSaysThatItSeesKubeSystemAlone(t *testing.T) {
	t.Parallel()
	onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
		s.Fault = func(r *http.Request) apitest.Fault {
			if r.URL.Path != "/api/v1/pods" {
				return apitest.Fault{}
			}
			return apitest.Fault{Status: 403, Body: `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"message":"pods is forbidden: User \"viewer\" cannot list resource \"pods\" in API group \"\" at the cluster scope"}`}
		}
		o, r := owners(t, config, "6s")
		assert.Truef(t, r.code == transform.ExitDone && o.Seconds["1"] == 6 && strings.Count(r.stderr, "outside kube-system") == 1, "exit %d, %+v\n%s", r.code, o, r.stderr)
		got := s.Count("/api/v1/pods?")
		assert.Truef(t, got <= 2, "what is denied is asked for %d times", got)
	})
}

func TestOwnersEndsWhenTheTokenExpires(t *testing.T) {
	t.Parallel()
	onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
		start := time.Now()
		s.Fault = firstObservations(s, func() apitest.Fault { return apitest.Fault{Status: 401} })
		o, r := owners(t, config, "1h")
		assert.Truef(t, r.code == transform.ExitRefused && o.Seconds["1"] >= 1 && o.Seconds["0"]+o.Seconds["2"] <= 0 && time.Since(start) <= run.RetryTime+5*time.Second, "exit %d, %+v\n%s", r.code, o, r.stderr)
	})
}

func TestAServerThatIsNotThereIsReported(t *testing.T) {
	t.Parallel()
	onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
		s.Down()
		for args, limits := range map[string][2]time.Duration{
			"status": {0, run.FirstTime}, "plan --cluster orchard": {0, run.FirstTime}, "explain --cluster orchard": {0, run.FirstTime}, "lint --cluster orchard": {0, run.FirstTime},
			"verify --wait 0s": {0, run.FirstTime}, "verify --wait 1m": {30 * time.Second, 2 * time.Minute},
		} {
			start := time.Now()
			r := runHere(t, "", append(strings.Fields(args), "--kubeconfig", config)...)
			took := time.Since(start)
			assert.Truef(t, r.code == transform.ExitFailed && took >= limits[0] && took <= limits[1] && strings.Count(r.stderr, "cannot connect to the API server http://127.0.0.1:") == 1 && strings.Contains(r.stderr, "of the context orchard: "), "%s: exit %d after %s\n%s%s", args, r.code, took, r.stdout, r.stderr)
		}
		r := shows(t, transform.ExitFailed, "leaders --for 1s --kubeconfig "+config, "!unknown from now on")
		assert.True(t, r.stdout == "" && strings.Count(r.stderr, "error: http://127.0.0.1:") == 1, r)
		assert.Contains(t, shows(t, transform.ExitFailed, "status --kubeconfig "+config, "\norchard ").stdout, "connection refused")
	})
}

// A time that ends before the first observation shows nothing, and that is no
// success.
func TestOwnersThatSawNothingInItsTimeFails(t *testing.T) {
	t.Parallel()
	onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
		s.Fault = on("/", apitest.Fault{Hang: time.Minute})
		r := shows(t, transform.ExitFailed, "leaders --for 500ms -o json --kubeconfig "+config, "the first observation did not complete in time:")
		assert.Equal(t, r.stdout, "")
	})
}

func owners(t *testing.T, config, length string) (report.Ownership, ran) {
	t.Helper()
	r := runHere(t, "", "leaders", "--kubeconfig", config, "--for", length, "-o", "json")
	o := decoded[report.Ownership](t, r.stdout)
	return o, r
}

// An interrupt ends the timeline as --for does.
func TestOwnersEndsWithAnInterrupt(t *testing.T) {
	t.Parallel()
	onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.Fault = firstObservations(s, func() apitest.Fault { cancel(); return apitest.Fault{} })
		var out, errs bytes.Buffer
		code := execute(ctx, []string{"leaders", "--kubeconfig", config}, streams{in: strings.NewReader(""), out: &out, err: &errs, network: memnet.Dial})
		assert.Truef(t, code == transform.ExitDone && strings.Contains(out.String(), "kube-controller-manager\n") && strings.Contains(out.String(), "seconds with no manager: 0.0, one: "), "exit %d\n%s%s", code, out.String(), errs.String())
	})
}

const rancherClusters = `{"apiVersion":"provisioning.cattle.io/v1","kind":"ClusterList","metadata":{},"items":[
{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"local","namespace":"fleet-local","uid":"u-1"},"spec":{}},
{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"orchard","namespace":"fleet-default","uid":"u-2"},
 "spec":{"kubernetesVersion":"v1.26.15+rke2r1","rkeConfig":{"machineGlobalConfig":{"cloud-provider-name":"aws"}}}}]}`

// onCluster runs a test over a live cluster, with its kubeconfig.
func onCluster(t *testing.T, test func(t *testing.T, s *apitest.Server, config string)) {
	synctest.Test(t, func(t *testing.T) {
		s, config := cluster(t)
		test(t, s, config)
	})
}
