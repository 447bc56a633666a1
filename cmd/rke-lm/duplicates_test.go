// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

// small is a cluster of RKE2 as short as it can be planned.
func small(name string) string {
	return "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: " + name + ", namespace: fleet-default}\nspec:\n  kubernetesVersion: v1.26.15+rke2r1\n" +
		"  rkeConfig:\n    machineGlobalConfig:\n      cloud-provider-name: aws\n"
}

const (
	twinOfRKE1    = "cluster_name: ibis\nkubernetes_version: v1.26.15-rancher1-1\nnodes: [{address: 10.0.3.4, role: [controlplane, etcd, worker]}]\ncloud_provider: {name: aws}\n"
	twinOfManager = "apiVersion: v1\nkind: Pod\nmetadata: {name: kube-controller-manager, namespace: kube-system}\nspec:\n  containers:\n  - name: kube-controller-manager\n" +
		"    image: registry.k8s.io/kube-controller-manager:v1.26.15\n    command: [kube-controller-manager, --cloud-provider=aws]\n"
)

// A cluster that is described twice is refused by every verb that plans or writes, wherever both
// places are applied together, and nothing of the two is written.
func TestAClusterThatIsDescribedTwiceIsRefused(t *testing.T) {
	const fleet = "defaultNamespace: fleet-default\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		both  string // where one of the two names the other; "" for no finding
		warns bool
	}{
		{"in one file", map[string]string{"a.yaml": small("ibis") + "---\n" + small("ibis")}, "a.yaml:1: fleet-default/ibis is described in a.yaml:10 as well", false},
		{"in one folder", map[string]string{"a.yaml": small("ibis"), "b.json": `{"apiVersion":"provisioning.cattle.io\/v1","kind":"Cluster","metadata":{"name":"ibis","namespace":"fleet-default"},"spec":{"kubernetesVersion":"v1.26.15+rke2r1","rkeConfig":{"machineGlobalConfig":{"cloud-provider-name":"aws"}}}}`}, "b.json:1: fleet-default/ibis is described in a.yaml:1 as well", false},
		{"in a list", map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(small("ibis"), "\n", "\n  ") + "\n- " + strings.ReplaceAll(small("ibis"), "\n", "\n  ") + "\n"}, "fleet-default/ibis is described in a.yaml:", false},
		{"in a bundle of Fleet", map[string]string{"fleet.yaml": fleet, "eu/a.yaml": small("ibis"), "us/a.yaml": small("ibis")}, "us/a.yaml:1: fleet-default/ibis is described in eu/a.yaml:1 as well", false},
		{"in a kustomization", map[string]string{"kustomization.yaml": "resources: [eu, us]\n", "eu/kustomization.yaml": "resources: [a.yaml]\n", "eu/a.yaml": small("ibis"), "us/kustomization.yaml": "resources: [a.yaml]\n", "us/a.yaml": small("ibis")}, "us/a.yaml:1: fleet-default/ibis is described in eu/a.yaml:1 as well", false},
		{"by RKE1", map[string]string{"a.yml": twinOfRKE1, "b.yml": twinOfRKE1}, "a.yml:1: ibis is described in b.yml:1 as well", false},
		{"by manifests of a bundle", map[string]string{"fleet.yaml": fleet, "eu/kcm.yaml": twinOfManager, "us/kcm.yaml": twinOfManager}, "us/kcm.yaml:1: kube-system/kube-controller-manager is described in eu/kcm.yaml:1 as well", false},
		{"in folders of two bundles", map[string]string{"eu/fleet.yaml": fleet, "eu/a.yaml": small("ibis"), "us/fleet.yaml": fleet, "us/a.yaml": small("ibis")}, "us/a.yaml:1", true},
		{"in two folders", map[string]string{"eu/a.yaml": small("ibis"), "us/a.yaml": small("ibis")}, "us/a.yaml:1", true},
		{"in two folders, by RKE1", map[string]string{"eu/a.yml": twinOfRKE1, "us/a.yml": twinOfRKE1}, "us/a.yml:1", true},
		{"only in a file of an overlay of Fleet", map[string]string{"fleet.yaml": fleet + "targetCustomizations: [{name: eu, yaml: {overlays: [us]}}]\n", "a.yaml": small("heron"), "overlays/us/b.yaml": small("ibis"), "overlays/eu/b.yaml": small("ibis")}, "overlays/us/b.yaml:1", true},
		{"only until kustomize renames it", map[string]string{"eu/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: eu-\n", "eu/a.yaml": small("ibis"), "us/kustomization.yaml": "resources: [a.yaml]\n", "us/a.yaml": small("ibis")}, "", false},
		{"without a name", map[string]string{"a.yml": strings.Replace(twinOfRKE1, "cluster_name: ibis\n", "", 1), "b.yml": strings.Replace(twinOfRKE1, "cluster_name: ibis\n", "", 1)}, "", false},
		{"by manifests of two clusters", map[string]string{"eu/kcm.yaml": twinOfManager, "us/kcm.yaml": twinOfManager}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			here(t, c.files)
			for _, verb := range []string{"plan", "lint", "lint --fix", "apply --next --dry-run --manual-done grant-migration-lease", "apply --next --manual-done grant-migration-lease"} {
				code, want, linted := transform.ExitDone, []string{"!is described in"}, strings.HasPrefix(verb, "lint")
				if c.both != "" && !c.warns {
					code = transform.ExitFound
				}
				switch {
				case c.both != "" && !linted:
					want = []string{"is described in", c.both} // both places
				case c.warns:
					want = []string{"is described in", "warning duplicate-cluster"}
				case c.both != "":
					want = []string{"is described in"}
				}
				shows(t, code, verb+" .", want...)
			}
			for name, text := range c.files {
				assert.Truef(t, c.both == "" || c.warns || textOf(t, name) == text, "%s was written", name)
			}
			shows(t, transform.ExitDone, "plan --accept duplicate-cluster .")
			shows(t, transform.ExitDone, "lint --accept duplicate-cluster .")
		})
	}
}

func TestAClusterThatAStreamDescribesTwiceIsRefused(t *testing.T) {
	for _, verb := range []string{"plan", "lint", "apply --next"} {
		r := runHere(t, small("ibis")+"---\n"+small("heron")+"---\n"+small("ibis"), append(strings.Fields(verb), "-")...)
		r.shows(t, verb, transform.ExitFound, "is described in <stdin>:1 as well", "is described in <stdin>:19 as well")
		assert.Truef(t, !strings.HasPrefix(verb, "apply") || r.stdout == "", "%s writes:\n%s", verb, r.stdout)
	}
}

func TestAClusterOfAStreamThatAFileDescribesAsWellIsNamed(t *testing.T) {
	here(t, map[string]string{"a.yaml": small("ibis")})
	runHere(t, small("ibis"), "lint", "a.yaml", "-").shows(t, "lint", transform.ExitDone, "is described in <stdin>:1 as well", "is described in a.yaml:1 as well")
}

// The guide keeps plans in the repository: they are copies of its clusters.
func TestFilesOfASavedPlanAreNoClustersOfTheirOwnUnlessTheyChanged(t *testing.T) {
	const start = "plans/fleet-default/ibis/00-start.yaml"
	here(t, map[string]string{"a.yaml": small("ibis")})
	shows(t, transform.ExitDone, "plan --out plans a.yaml")
	for _, verb := range []string{"plan", "lint", "apply --next --dry-run", "explain"} {
		r := shows(t, transform.ExitDone, verb+" .", "!form-not-read", "!described in")
		assert.Equal(t, strings.Count(r.stdout+r.stderr, "files of saved plans are not read, such as "+start), 1, verb, r.stdout, r.stderr)
	}
	shows(t, transform.ExitDone, "lint "+start, "!are not read") // it is named
	putFile(t, start, textOf(t, start)+"# edited\n")
	shows(t, transform.ExitDone, "lint .", "is described in "+start+":1 as well") // it is not as the plan lists it
}

// A plan.json makes files pass for no clusters, so the files that a change lists have to be those of a plan.
func TestAReviewMakesTheFilesOfASavedPlanAgain(t *testing.T) {
	const plans = "plans/fleet-default/ibis/"
	listing := func(of, name, content string) string {
		return fmt.Sprintf(`{"apiVersion":"rke-lm/v1","kind":"SavedPlan","cluster":{"distro":"rke2","namespace":"fleet-default","name":%q},"sha256":{%q:"%x"}}`, of, name, sha256.Sum256([]byte(content)))
	}
	external := strings.Replace(small("ibis"), "aws", "external", 1)
	for name, c := range map[string]struct {
		change func(h *history)
		want   int
		says   string
		also   string // or else no cluster is removed
	}{
		"the plan of a cluster": {func(*history) {}, transform.ExitDone, "9 (of saved plans)", ""},
		"with other choices": {func(h *history) {
			runHere(h.t, "", "plan", "--replace", "--end-state", "external", "--accept", "node-rename", "--out", "plans", "clusters")
		}, transform.ExitDone, "clusters changed: 0", ""},
		"of a cluster that has advanced": {func(h *history) { h.apply("--next", "clusters") }, transform.ExitDone, "performs grant-migration-lease", ""},
		"a document that was edited":     {func(h *history) { h.replace(plans+"00-start.yaml", "aws", "external") }, transform.ExitFound, "duplicate-cluster  " + plans, ""},
		"an edited document that is listed": {func(h *history) {
			h.write(plans+"00-start.yaml", external)
			h.write(plans+"plan.json", listing("ibis", "00-start.yaml", external))
		}, transform.ExitFound, "saved-plan-differs  " + plans + "00-start.yaml", ""},
		"a configuration that is listed": {func(h *history) {
			h.write("hosts/config.yaml", "cloud-provider-name: external\n")
			h.write("hosts/plan.json", listing("ibis", "config.yaml", "cloud-provider-name: external\n"))
		}, transform.ExitFound, "saved-plan-differs  hosts/config.yaml", ""},
		"a cluster of the base that is listed": {func(h *history) {
			h.write("clusters/plan.json", listing("ibis", "ibis.yaml", small("ibis")))
		}, transform.ExitFound, "saved-plan-differs  clusters/ibis.yaml", ""},
		"a cluster of the base that is changed and listed": {func(h *history) {
			h.write("clusters/ibis.yaml", external)
			h.write("clusters/plan.json", listing("ibis", "ibis.yaml", external))
		}, transform.ExitFound, "saved-plan-differs  clusters/ibis.yaml", ""},
		"a cluster of the base that goes from a file that is listed": {func(h *history) {
			h.write("others/two.yaml", small("egret"))
			h.write("others/plan.json", listing("egret", "two.yaml", small("egret")))
		}, transform.ExitFound, "saved-plan-differs  others/two.yaml", "cluster-removed"},
		"a plan that Fleet applies": {func(h *history) { h.write("plans/fleet.yaml", "defaultNamespace: fleet-default\n") }, transform.ExitFound, "duplicate-cluster  " + plans, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			h.write("clusters/ibis.yaml", small("ibis"))
			h.write("others/two.yaml", small("egret")+"---\n"+small("heron"))
			h.commit("the clusters as they are")
			h.git("switch", "--quiet", "--create", "change")
			runHere(t, "", "plan", "--out", "plans", "clusters")
			assert.NilError(t, os.Remove(plans+".gitignore"))
			c.change(h)
			shows(t, c.want, "review --base main", c.says, cmp.Or(c.also, "!cluster-removed"))
			h.commit("the change")
			shows(t, c.want, "review --base main --head HEAD", c.says, cmp.Or(c.also, "!cluster-removed"))
		})
	}
}
