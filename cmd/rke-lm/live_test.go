// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// cluster is a live cluster after install-ccm.
func cluster(t *testing.T) (*apitest.Server, string) {
	t.Helper()
	s := apitest.Start(t)
	s.Fill(520)
	return s, s.Kubeconfig(t)
}

func TestVerifyFollowsTheLeaseUntilItMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, config := cluster(t)
		r := runHere(t, "", "verify", "--kubeconfig", config, "--stage", "install-ccm", "-o", "json")
		var v report.Verification
		err := json.Unmarshal([]byte(r.stdout), &v)
		assert.Must(t, err == nil, err, r.stderr)
		assert.Truef(t, r.code == exitcode.Done && v.OK && len(v.Nodes) == 520 && v.Lease.Owner == "kube-controller-manager" && v.Lease.Life == "live" && len(v.Findings) == 0, "exit %d, %d nodes, %+v %+v", r.code, len(v.Nodes), v.Lease, v.Findings)
	})
}

func TestVerifyEndsWithTheCodeOfWhatItFound(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*apitest.Server)
		args   []string
		code   int
		want   string
	}{
		{"nothing", func(*apitest.Server) {}, nil, exitcode.Done, "ok\n"},
		{"an error", func(s *apitest.Server) { s.Nodes[7].Spec.ProviderID = "rke2://" + s.Nodes[7].Name }, nil, exitcode.Found, "error provider-id-foreign  nodes/" + apitest.NodeName(7)},
		{"an error that is accepted", func(s *apitest.Server) { s.Nodes[7].Spec.ProviderID = "rke2://" + s.Nodes[7].Name }, []string{"--accept", "provider-id-foreign"}, exitcode.Done, "error provider-id-foreign, accepted"},
		{"no right on the lease", func(s *apitest.Server) { s.Denied["system:kube-controller-manager"] = true }, nil, exitcode.Found, "error lease-rbac-missing"},
		{"a right of the user that is missing", func(s *apitest.Server) { s.Fault = on("/persistentvolumes", apitest.Fault{Status: 403}) }, nil, exitcode.Refused, "list persistentvolumes"},
		{"a wrong answer", func(s *apitest.Server) { s.Fault = on("/nodes", apitest.Fault{Status: 200, Body: "<html>"}) }, nil, exitcode.Failed, "no NodeList of Kubernetes"},
		{"the wrong owner", func(s *apitest.Server) {}, []string{"--stage", "switch-to-external"}, exitcode.Found, "error lease-wrong-holder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
				c.change(s)
				r := runHere(t, "", append([]string{"verify", "--kubeconfig", config}, c.args...)...)
				assert.Truef(t, r.code == c.code && strings.Contains(r.stdout+r.stderr, c.want), "exit %d\n%s%s", r.code, r.stdout, r.stderr)
				assert.Truef(t, c.code < exitcode.Input || r.stdout == "", "a verdict although nothing was seen:\n%s", r.stdout)
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

// A policy that denies a write is no permission that a user could request.
func TestASnapshotThatAWebhookDeniesIsRefusedInItsWords(t *testing.T) {
	t.Parallel()
	onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
		s.Fault = func(r *http.Request) apitest.Fault {
			if r.Method != http.MethodPost || !strings.Contains(r.URL.Path, "/configmaps") {
				return apitest.Fault{}
			}
			return apitest.Fault{Status: 403, Body: `{"kind":"Status","apiVersion":"v1","message":"admission webhook \"w\" denied the request: labels cannot be empty"}`}
		}
		r := runHere(t, "", "verify", "--kubeconfig", config, "--snapshot")
		assert.Truef(t, r.code == exitcode.Refused && strings.Contains(r.stderr, "labels cannot be empty") && !strings.Contains(r.stderr, "missing permissions:"), "exit %d\n%s%s", r.code, r.stdout, r.stderr)
	})
}

func TestVerifyComparesWithTheSnapshotThatItKept(t *testing.T) {
	t.Parallel()
	onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
		r := runHere(t, "", "verify", "--kubeconfig", config, "--snapshot")
		assert.Mustf(t, r.code == exitcode.Done && strings.Contains(r.stderr, "snapshot of 520 nodes"), "exit %d\n%s%s", r.code, r.stdout, r.stderr)
		file, dump := filepath.Join(t.TempDir(), "before.yaml"), filepath.Join(t.TempDir(), "dump.yaml")
		r = runHere(t, "", "verify", "--kubeconfig", config, "--snapshot="+file, "--dump", dump)
		assert.Mustf(t, r.code == exitcode.Done, "exit %d\n%s%s", r.code, r.stdout, r.stderr)
		s.Do(func() { s.Nodes[9].UID = "another" })
		r = runHere(t, "", "verify", "--kubeconfig", config)
		assert.Truef(t, r.code == exitcode.Found && strings.Contains(r.stdout, "error node-renamed  nodes/"+apitest.NodeName(9)), "exit %d\n%s%s", r.code, r.stdout, r.stderr)
		r = runHere(t, "", "verify", "--kubeconfig", config, "--snapshot")
		assert.Truef(t, r.code == exitcode.Refused, "the snapshot was overwritten: exit %d\n%s", r.code, r.stderr)
		r = runHere(t, "", "verify", "--from", dump, "--against", file)
		assert.Truef(t, r.code == exitcode.Done, "exit %d\n%s%s", r.code, r.stdout, r.stderr)
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
		assert.Truef(t, r.code == exitcode.Done && o.Seconds["1"] == 6 && strings.Count(r.stderr, "outside kube-system") == 1, "exit %d, %+v\n%s", r.code, o, r.stderr)
		got := s.Count("/api/v1/pods?")
		assert.Truef(t, got <= 2, "what is denied is asked for %d times", got)
	})
}

func TestOwnersEndsWhenTheTokenExpires(t *testing.T) {
	t.Parallel()
	onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
		start := time.Now()
		s.Fault = aFewLooks(s, func() apitest.Fault { return apitest.Fault{Status: 401} })
		o, r := owners(t, config, "1h")
		assert.Truef(t, r.code == exitcode.Refused && o.Seconds["1"] >= 1 && o.Seconds["0"]+o.Seconds["2"] <= 0 && time.Since(start) <= run.DeniedTime+5*time.Second, "exit %d, %+v\n%s", r.code, o, r.stderr)
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
			assert.Truef(t, r.code == exitcode.Failed && took >= limits[0] && took <= limits[1] && strings.Count(r.stderr, "cannot connect to the API server http://127.0.0.1:") == 1 && strings.Contains(r.stderr, "of the context orchard: "), "%s: exit %d after %s\n%s%s", args, r.code, took, r.stdout, r.stderr)
		}
		r := runHere(t, "", "leaders", "--kubeconfig", config, "--for", "1s")
		assert.Truef(t, r.code == exitcode.Failed && r.stdout == "" && strings.Count(r.stderr, "error: http://127.0.0.1:") == 1 && !strings.Contains(r.stderr, "unknown from now on"), "exit %d\n%s%s", r.code, r.stdout, r.stderr)
		r = runHere(t, "", "status", "--kubeconfig", config)
		assert.Truef(t, r.code == exitcode.Failed && strings.Contains(r.stdout, "\norchard ") && strings.Contains(r.stdout, "connection refused"), "exit %d\n%s%s", r.code, r.stdout, r.stderr)
	})
}

// A time that ends before the first observation shows nothing, and that is no
// success.
func TestOwnersThatSawNothingInItsTimeFails(t *testing.T) {
	t.Parallel()
	onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
		s.Fault = on("/", apitest.Fault{Hang: time.Minute})
		r := runHere(t, "", "leaders", "--kubeconfig", config, "--for", "500ms", "-o", "json")
		assert.Truef(t, r.code == exitcode.Failed && r.stdout == "" && strings.Contains(r.stderr, "the first observation did not complete in time:"), "exit %d\n%s%s", r.code, r.stdout, r.stderr)
	})
}

func owners(t *testing.T, config, length string) (report.Ownership, ran) {
	t.Helper()
	r := runHere(t, "", "leaders", "--kubeconfig", config, "--for", length, "-o", "json")
	var o report.Ownership
	err := json.Unmarshal([]byte(r.stdout), &o)
	assert.Mustf(t, err == nil, "%v: exit %d %s", err, r.code, r.stderr)
	return o, r
}

// An interrupt ends the timeline as --for does.
func TestOwnersEndsWithAnInterrupt(t *testing.T) {
	t.Parallel()
	onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.Fault = aFewLooks(s, func() apitest.Fault { cancel(); return apitest.Fault{} })
		var out, errs bytes.Buffer
		code := execute(ctx, []string{"leaders", "--kubeconfig", config}, streams{in: strings.NewReader(""), out: &out, err: &errs, network: memnet.Dial})
		assert.Truef(t, code == exitcode.Done && strings.Contains(out.String(), "kube-controller-manager\n") && strings.Contains(out.String(), "seconds with no manager: 0.0, one: "), "exit %d\n%s%s", code, out.String(), errs.String())
	})
}

const rancherClusters = `{"apiVersion":"provisioning.cattle.io/v1","kind":"ClusterList","metadata":{},"items":[
{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"local","namespace":"fleet-local","uid":"u-1"},"spec":{}},
{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"orchard","namespace":"fleet-default","uid":"u-2"},
 "spec":{"kubernetesVersion":"v1.26.15+rke2r1","rkeConfig":{"machineGlobalConfig":{"cloud-provider-name":"aws"}}}}]}`

func TestStatusHasALineForEachCluster(t *testing.T) {
	t.Parallel()
	onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
		s.Do(func() { s.Clusters = rancherClusters })
		r := runHere(t, "", "status", "--kubeconfig", config)
		const want = `CLUSTER                VERSION          PROVIDER  SITUATION  REACHED      NEXT                   FINDINGS
orchard                v1.26.15+rke2r1  aws       migrating  install-ccm  -                      -
fleet-default/orchard  v1.26.15+rke2r1  aws       in-tree    -            grant-migration-lease  2 warnings
`
		assert.Truef(t, r.code == exitcode.Done && strings.HasPrefix(r.stdout, want) && strings.Contains(r.stdout, "\nfleet-local/local      -                -         -          -            -                      fleet-local/local:"), "exit %d\n%s%s", r.code, r.stdout, r.stderr)
	})
}

// Who may not list what a cluster does not have is refused all the same.
func TestStatusOfAClusterThatIsNoRanchersNeedsNoRightsOfRancher(t *testing.T) {
	t.Parallel()
	onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
		s.Fault = on("/clusters", apitest.Fault{Status: 403})
		r := runHere(t, "", "status", "--kubeconfig", config)
		assert.Truef(t, r.code == exitcode.Done && strings.Contains(r.stdout, "install-ccm"), "exit %d\n%s%s", r.code, r.stdout, r.stderr)
	})
}

func TestStatusSaysWhichClusterDoesNotAnswer(t *testing.T) {
	t.Parallel()
	onCluster(t, func(t *testing.T, s *apitest.Server, config string) {
		s.Fault = on("/nodes", apitest.Fault{Status: 403})
		r := runHere(t, "", "status", "--kubeconfig", config, "-o", "json")
		var list report.Statuses
		err := json.Unmarshal([]byte(r.stdout), &list)
		assert.Truef(t, err == nil && r.code == exitcode.Refused && len(list.Clusters) == 1 && strings.Contains(list.Clusters[0].Problem, "list nodes"), "exit %d, %v\n%s%s", r.code, err, r.stdout, r.stderr)
	})
}

// onCluster runs a test over a live cluster, with its kubeconfig.
func onCluster(t *testing.T, test func(t *testing.T, s *apitest.Server, config string)) {
	synctest.Test(t, func(t *testing.T) {
		s, config := cluster(t)
		test(t, s, config)
	})
}
