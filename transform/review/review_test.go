// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/manifest"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const cluster = `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata:
  name: orchard
  namespace: fleet-default
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    machineGlobalConfig:
      cloud-provider-name: aws
      kube-controller-manager-arg:
        - node-monitor-grace-period=30s
    machinePools:
      - name: all
        controlPlaneRole: true
        etcdRole: true
        workerRole: true
        quantity: 3
`

const manager = `apiVersion: v1
kind: Pod
metadata: {name: kube-controller-manager, namespace: kube-system}
spec:
  containers:
  - name: manager
    image: registry.k8s.io/kube-controller-manager:v1.26.15
    command: [kube-controller-manager, --cloud-provider=aws]
`

// side is a cluster in a file.
func side(t *testing.T, d transform.Format, file, text string) *review.Side {
	t.Helper()
	doc := assert.Value(yamledit.ParseString(file, text))(t)
	return &review.Side{Format: d, Docs: transform.Only(doc)}
}

// replaced is a text with another one in the place of one that it has once.
func replaced(t *testing.T, text, old, with string) string {
	t.Helper()
	assert.Mustf(t, strings.Count(text, old) == 1, "%q occurs %d times", old, strings.Count(text, old))
	return strings.Replace(text, old, with, 1)
}

// performed returns a text after some stages.
func performed(t *testing.T, d transform.Format, text string, target transform.Target, stages ...string) string {
	t.Helper()
	docs := assert.Value(plan.Perform(d, side(t, d, "a.yaml", text).Docs, target, stages))(t)
	return string(docs[0].Bytes())
}

// rules lists what was found, errors that count with a mark.
func rules(findings []transform.Finding) []string {
	var ids []string
	for _, f := range findings {
		id := f.Rule
		if f.Stops() {
			id += "!"
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func TestAChangeIsWhatItsStagesDoNotMake(t *testing.T) {
	d := rke2.Format()
	external := transform.Target{EndState: transform.EndStateExternal, Accept: []string{"node-rename"}}
	moved := external
	moved.Version = "v1.27.16+rke2r2"
	granted := performed(t, d, cluster, external, "grant-migration-lease")
	waiting := performed(t, d, cluster, external, "grant-migration-lease", "enable-leader-migration", "install-ccm")
	switched := performed(t, d, waiting, external, "switch-to-external")
	upgrade := func(text string) string { return strings.ReplaceAll(text, "v1.26.15+rke2r1", "v1.26.15+rke2r2") }
	for _, c := range []struct {
		name          string
		before, after string
		target        transform.Target
		want          []string
	}{
		{"a stage alone", cluster, granted, external, nil},
		{"another cluster-wide value", cluster, replaced(t, cluster, "quantity: 3", "quantity: 5"), external, []string{"edit-without-stage"}},
		{"the switch", waiting, switched, external, []string{"node-rename"}},
		{"the switch that is taken where no end state is chosen", waiting, performed(t, d, waiting, transform.Target{}, "switch-to-external"), transform.Target{}, nil},
		{"two stages", cluster, performed(t, d, granted, external, "enable-leader-migration"), external, []string{"several-stages!"}},
		{"the switch with another release", waiting, upgrade(switched), external, []string{"node-rename", "stage-with-upgrade!"}},
		{"a release alone", waiting, upgrade(waiting), external, nil},
		{"the switch with a release that was planned", waiting, performed(t, d, waiting, moved, "switch-to-external"), moved, []string{"node-rename"}},
		{"a stage before another one", cluster, performed(t, d, cluster, external, "enable-leader-migration"), external, []string{"stage-out-of-order!"}},
		{"a stage that is written in another way", cluster, replaced(t, granted, "kind: Role\n      metadata:\n", "kind: Role\n      metadata:\n        labels: {team: a}\n"), external, []string{"stage-differs"}},
		{"a list that replaces another one", cluster, replaced(t, cluster, "    machinePools:\n", "    machineSelectorConfig:\n      - config: {kube-controller-manager-arg: [v=4]}\n    machinePools:\n"), external, []string{"flag-overridden!"}},
		{"a release that is none", cluster, replaced(t, cluster, "v1.26.15+rke2r1", "latest"), external, []string{"plan-lost!"}},
		{"a release that was none", replaced(t, cluster, "v1.26.15+rke2r1", "latest"), cluster, external, []string{"edit-without-stage", "stages-unknown!"}},
		{"a manager without the network of its host", switched, replaced(t, switched, "hostNetworking: true", "hostNetworking: false"), external, []string{"edit-without-stage", "manager-changed!"}},
		{"a stage that is undone", granted, cluster, external, []string{"stage-undone!"}},
		{"a stage that is undone, accepted", granted, cluster, transform.Target{Accept: []string{"stage-undone"}}, []string{"stage-undone"}},
		{"a switch that node-rename blocks", waiting, switched, transform.Target{}, []string{"node-rename!"}},
		{"a provider that is removed", granted, replaced(t, granted, "      cloud-provider-name: aws\n", ""), external, []string{"provider-lost!"}},
		{"external in one line", cluster, replaced(t, cluster, "name: aws", "name: external"), external, []string{"provider-lost!"}},
		{"external in one line without an end state, which renames nodes", cluster, replaced(t, cluster, "name: aws", "name: external"), transform.Target{Accept: []string{"provider-lost"}}, []string{"node-rename!", "provider-lost", "stage-incomplete!"}},
		{"external before the manager, which comes from elsewhere", performed(t, d, granted, external, "enable-leader-migration"), replaced(t, performed(t, d, granted, external, "enable-leader-migration", "install-ccm", "switch-to-external"), chartOf(t, switched), ""), transform.Target{EndState: "external", Accept: []string{"ccm-not-in-file", "node-rename"}}, []string{"node-rename"}},
		{"no manager after the switch", switched, replaced(t, switched, chartOf(t, switched), ""), external, []string{"ccm-removed!"}},
		{"no manager before it", waiting, replaced(t, waiting, chartOf(t, waiting), ""), external, []string{"stage-undone!"}},
		{"no manager after the switch, which is known", switched, replaced(t, switched, chartOf(t, switched), ""), transform.Target{Accept: []string{"ccm-removed"}}, []string{"ccm-removed"}},
		{"1.27 before the switch", waiting, strings.ReplaceAll(waiting, "v1.26.15+rke2r1", "v1.27.16+rke2r2"), external, []string{"in-tree-gone!"}},
		{"1.27 after it", switched, strings.ReplaceAll(switched, "v1.26.15+rke2r1", "v1.27.16+rke2r2"), external, nil},
		{"workers alone become external", cluster, replaced(t, cluster, "machinePools:\n", "machineSelectorConfig:\n      - config: {cloud-provider-name: external}\n        machineLabelSelector: {matchLabels: {zone: b}}\n    machinePools:\n      - {name: b, workerRole: true, quantity: 1, labels: {zone: b}}\n"), external, []string{"edit-without-stage", "provider-mixed!"}},
		{"the same key in another place", cluster, replaced(t, replaced(t, cluster, "      cloud-provider-name: aws\n", ""), "    machinePools:\n", "    machineSelectorConfig:\n      - config:\n          cloud-provider-name: aws\n    machinePools:\n"), external, nil},
		{"an argument of a manifest with a stage", granted, replaced(t, performed(t, d, granted, external, "enable-leader-migration"), "grace-period=30s", "grace-period=40s"), external, []string{"edit-with-stage!"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := review.Evaluate(review.Pair{Before: side(t, d, "a.yaml", c.before), After: side(t, d, "a.yaml", c.after)}, c.target)
			assert.EqualSlices(t, rules(got.Findings), c.want, got.Findings)
			for _, f := range got.Findings {
				assert.True(t, f.File == "a.yaml" && f.Line != 0 && f.Message != "" && f.Fix != "", f)
			}
		})
	}
}

// chartOf is the document of the chart in a text, with the separator before it.
func chartOf(t *testing.T, text string) string {
	t.Helper()
	const end = "        version: 0.0.8\n"
	from, to := strings.Index(text, "      ---\n      apiVersion: helm.cattle.io"), strings.Index(text, end)
	assert.Must(t, from >= 0 && to >= from, "no chart")
	return text[from : to+len(end)]
}

func TestAClusterThatIsNotMigratedIsComparedAndNothingMore(t *testing.T) {
	before := replaced(t, cluster, "      cloud-provider-name: aws\n", "")
	after := replaced(t, before, "grace-period=30s", "grace-period=50s")
	got := review.Evaluate(review.Pair{Before: side(t, rke2.Format(), "a.yaml", before), After: side(t, rke2.Format(), "a.yaml", after)}, transform.Target{})
	assert.True(t, got.Kind == review.Changed && len(got.Findings) == 0 && len(got.Classes) == 1 && got.Classes[0].Keys[0].Name == "kube-controller-manager-arg", got)
}

func TestManifestsAreReviewedByTheirArguments(t *testing.T) {
	after := replaced(t, manager, "--cloud-provider=aws]", "--cloud-provider=external]")
	got := review.Evaluate(review.Pair{Before: side(t, manifest.Format(), "a.yaml", manager), After: side(t, manifest.Format(), "a.yaml", after)}, transform.Target{})
	assert.True(t, len(got.Classes) == 1 && got.Classes[0].Keys[0].Name == "cloud-provider" && len(transform.Stopping(got.Findings)) != 0, got)
}

func TestClustersAreFoundAgainByNameAndFile(t *testing.T) {
	d, one := rke2.Format(), cluster
	two := strings.Replace(cluster, "orchard", "harbour", 1)
	depot := "nodes: [{address: 10.0.0.1, user: a, role: [controlplane, etcd]}]\nkubernetes_version: v1.26.15-rancher1-1\ncloud_provider: {name: aws}\n"
	same := func(file string) string { return file }
	for _, c := range []struct {
		name          string
		before, after []*review.Side
		was           func(string) string
		want          []string // file before → file after
	}{
		{"in their files", []*review.Side{side(t, d, "a", one), side(t, d, "b", two)}, []*review.Side{side(t, d, "b", two), side(t, d, "a", one)}, same, []string{"b→b", "a→a"}},
		{"one name in two folders", []*review.Side{side(t, d, "dev/a", one), side(t, d, "prod/a", one)}, []*review.Side{side(t, d, "prod/a", one), side(t, d, "dev/a", one)}, same, []string{"prod/a→prod/a", "dev/a→dev/a"}},
		{"in another file", []*review.Side{side(t, d, "a", one)}, []*review.Side{side(t, d, "z", one)}, same, []string{"a→z"}},
		{"under another name", []*review.Side{side(t, d, "a", one)}, []*review.Side{side(t, d, "a", two)}, same, []string{"→a", "a→"}},
		{"without a name, in a file that moved", []*review.Side{side(t, rke1.Format(), "a", depot)}, []*review.Side{side(t, rke1.Format(), "b", depot)}, func(string) string { return "a" }, []string{"a→b"}},
		{"without a name, in another file", []*review.Side{side(t, rke1.Format(), "a", depot)}, []*review.Side{side(t, rke1.Format(), "b", depot)}, same, []string{"→b", "a→"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.EqualSlices(t, lists.Map(review.Pairs(c.before, c.after, c.was), func(p review.Pair) string { return name(p.Before) + "→" + name(p.After) }), c.want)
		})
	}
}

func name(s *review.Side) string {
	if s == nil {
		return ""
	}
	return s.Docs[0].File()
}

func TestWhatAChangeDoesToAConfigurationIsAnErrorOnlyTogetherWithClusters(t *testing.T) {
	key := func(key string, line int, values ...string) review.Setting {
		s := review.Setting{Key: key, Values: values}
		for range values {
			s.Lines, line = append(s.Lines, line), line+1
		}
		return s
	}
	had := []review.Setting{key("accept", 2, "node-rename"), key("end-state", 5, "external")}
	for _, c := range []struct {
		name string
		now  []review.Setting
		want string
	}{
		{"nothing", had, ""},
		{"accepts", []review.Setting{key("accept", 2, "node-rename", "stage-undone"), had[1]}, "acceptance-added:3"},
		{"accepts another", []review.Setting{key("accept", 2, "stage-undone"), had[1]}, "acceptance-added:2 configuration-changed:2"},
		{"accepts nothing", []review.Setting{had[1]}, "configuration-changed:1"},
		{"sets", slices.Concat(had, []review.Setting{key("chart-repo", 7, "https://charts.example.com")}), "configuration-changed:7"},
		{"leaves files out", slices.Concat(had, []review.Setting{key("exclude", 7, "clusters")}), "configuration-changed:7"},
		{"sets another value", []review.Setting{had[0], key("end-state", 6, "aws-override")}, "configuration-changed:6"},
		{"has no file", nil, "configuration-changed:1 configuration-changed:1"},
	} {
		for _, touches := range []bool{true, false} {
			var got []string
			for _, f := range review.Configuration("c", had, c.now, touches, nil) {
				got = append(got, fmt.Sprintf("%s:%d", f.Rule, f.Line))
				assert.Equal(t, f.Stops(), touches, c.name, f)
			}
			assert.Equal(t, strings.Join(got, " "), c.want, c.name)
		}
	}
	found := review.Configuration("c", had, nil, true, []string{"configuration-changed"})
	assert.True(t, found[0].Accepted, found)
}

func TestADocumentThatCannotBeReadInTheBaseIsAWarning(t *testing.T) {
	for _, c := range []struct {
		err  error
		want transform.Finding
	}{
		{errors.New("no such object"), transform.Finding{Message: "in the base: no such object"}},
		{&yamledit.Error{File: "a.yaml", Line: 3, What: "no YAML"}, transform.Finding{File: "a.yaml", Line: 3, Message: "in the base: no YAML"}},
		{&yamledit.Error{File: "a.yaml", Line: 3, What: "no YAML", Do: "write some"}, transform.Finding{File: "a.yaml", Line: 3, Message: "in the base: no YAML; write some"}},
	} {
		c.want.Rule, c.want.Severity, c.want.Fix = "base-unread", transform.Warning, "nothing, if the change corrects it"
		assert.Equal(t, review.Unread(c.err), c.want)
	}
}

func TestTheTipCountsAndAcceptancesOfBoth(t *testing.T) {
	of := func(accept, exclude, repo string) []review.Setting {
		return []review.Setting{{Key: "accept", Values: strings.Fields(accept)}, {Key: "exclude", Values: strings.Fields(exclude)}, {Key: "chart-repo", Values: []string{repo}}}
	}
	got := review.Agreed(of("a b", "x y", "old"), of("b c", "y z", "new"))
	want := of("b", "y", "new")
	assert.Truef(t, reflect.DeepEqual(got, want), "%v, want %v", got, want)
	if got := review.Agreed(nil, of("a", "x", "new")); !reflect.DeepEqual(got[2], of("", "", "new")[2]) || len(got[0].Values)+len(got[1].Values) > 0 {
		t.Errorf("%v", got)
	}
}
