// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func parsed(t *testing.T, text string) yamledit.Node {
	t.Helper()
	doc := assert.Value(yamledit.ParseString("cluster.yaml", text))(t)
	return doc.Root()
}

// placed returns the arguments of a manager, from words.
func placed(t *testing.T, words string) []args.Arg {
	t.Helper()
	return args.Place(parsed(t, "args: ["+strings.Join(strings.Fields(words), ", ")+"]\n").Get("args"))
}

// said joins findings as severity and message; a severity of its own is in front.
func printed(found []transform.Finding) string {
	return strings.Join(lists.Map(found, func(f transform.Finding) string { return string(f.Severity) + " " + f.Message + " / " + f.Fix }), "; ")
}

// The last occurrence of a flag counts, as it does for the managers.
func TestArgumentsOfManagersAreCheckedByTheirLastFlag(t *testing.T) {
	for _, c := range []struct {
		name     string
		rule     Rule
		provider string
		args     string
		want     string // a part of what is said; "" for nothing
	}{
		{"the flag on an external manager", FlagLeftOnKCM, external, "v=2 enable-leader-migration", "keeps enable-leader-migration"},
		{"the flag on an in-tree manager", FlagLeftOnKCM, inTree, "enable-leader-migration", ""},
		{"a flag that is off", FlagLeftOnKCM, external, "enable-leader-migration=false", ""},
		{"a flag that is off at last", FlagLeftOnKCM, external, "enable-leader-migration enable-leader-migration=false", ""},
		{"no flag", FlagLeftOnKCM, external, "v=2", ""},
		{"the flag without a permission", LeaseGrantMissing, inTree, "enable-leader-migration=true", "apply grant-migration-lease"},
		{"an external manager, which needs none", LeaseGrantMissing, external, "enable-leader-migration=true", ""},
		{"a configuration without the flag", ConfigWithoutFlag, inTree, "leader-migration-config=/etc/a.yaml", "takes no part in the migration"},
		{"a spare configuration", ConfigWithoutFlag, external, "leader-migration-config=/etc/a.yaml", "note an external manager"},
		{"a configuration with the flag", ConfigWithoutFlag, inTree, "leader-migration-config=/etc/a.yaml enable-leader-migration", ""},
		{"a controller that is off", CloudControllersOff, inTree, "'controllers=*,-service'", "does not start service:"},
		{"all but the wildcard are off", CloudControllersOff, inTree, "controllers=-*", "does not start service and cloud-node-lifecycle"},
		{"a controller by its new name", CloudControllersOff, inTree, "'controllers=*,-cloud-node-lifecycle-controller'", "does not start cloud-node-lifecycle:"},
		{"routes, which are not configured", CloudControllersOff, inTree, "'controllers=*,-route'", ""},
		{"an external manager starts none", CloudControllersOff, external, "'controllers=*,-service'", ""},
		{"the default of RKE2", CloudControllersOff, inTree, "'controllers=*,tokencleaner'", ""},
		{"no configuration", ConfigWithoutFlag, inTree, "v=2", ""},
	} {
		got := printed(checked(c.rule, Component{Args: placed(t, c.args), Provider: c.provider}))
		assert.Truef(t, (c.want != "" || got == "") && strings.Contains(got, c.want), "%s: %q", c.name, got)
	}
}

func TestAnImageOf128NeedsAConfiguration(t *testing.T) {
	for words, want := range map[string]bool{"enable-leader-migration": true, "enable-leader-migration leader-migration-config=/a": false, "v=2": false} {
		list := placed(t, words)
		assert.True(t, Renamed(list, "v1.28.1") == want && !Renamed(list, "v1.27.2"), words)
	}
}

func TestStagesBeforeTheSwitchDoNotAnswerForIt(t *testing.T) {
	move := k8s.Upgrade{From: "v1.26.15", To: "v1.27.16", Is: func(string) bool { return true }}
	for stage, want := range map[string]bool{"": true, stages.EnableLeaderMigration: false} {
		assert.Equal(t, IsInTreeGone(move, stage), want, "in-tree-gone at", stage)
	}
	at := parsed(t, "provider: aws\n").Get("provider")
	equal, half := transform.HostNames{"n": "n"}, transform.HostNames{"n": "n", "o": ""}
	for _, c := range []struct {
		target transform.Target
		want   bool
	}{
		{transform.Target{}, true},
		{transform.Target{EndState: transform.EndStateExternal}, false},
		{transform.Target{HostNames: equal}, false},
		{transform.Target{HostNames: half}, true},
		{transform.Target{HostNames: half, EndState: transform.EndStateExternal}, true},
	} {
		assert.Equal(t, NamesOpen(c.target), c.want, c)
	}
	assert.Equal(t, NamesMissing(transform.Target{HostNames: half}, "x")+NamesMissing(transform.Target{}, "x"), "add the host names of o to the file of --host-names; or x")
	assert.Equal(t, Some([]string{"a", "b", "c", "d", "e"}), "a, b, c and 2 more")
	assert.Equal(t, printed(of(func(f *transform.Findings) {
		RenameAt(at, "", "m", "f", f)
		RenameAt(at, stages.SwitchToExternal, "m", "f", f)
	})), "warning m / f;  m / f")
}

// of returns what a check finds.
func of(check func(*transform.Findings)) (found transform.Findings) {
	check(&found)
	return found
}

// withManager is a cluster whose manifests run a manager next to a kube-controller-manager with a provider.
func withManager(provider string, b leadermigration.Bundle, target transform.Target) Subject {
	return &managers{target: target, components: []Component{{Provider: provider}}, bundle: b}
}

func TestAManagerOfTheManifestsIsCheckedLikeTheChart(t *testing.T) {
	const workload = `addons: |
  apiVersion: apps/v1
  kind: DaemonSet
  metadata: {name: aws-cloud-controller-manager, namespace: kube-system}
  spec:
    template:
      spec:
        containers:
        - name: manager
          image: registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.6
          args: [ARGS]
`
	for _, c := range []struct{ args, unsafe, second string }{
		{"--cloud-provider=aws, --configure-cloud-routes=false, --enable-leader-migration=true", "", ""},
		{"--configure-cloud-routes=false", "", "two managers own the cloud controllers / add --enable-leader-migration=true"},
		{"--enable-leader-migration=true", "routes are on without --cluster-cidr", ""},
		{"--cloud-provider=AWS, --cluster-cidr=10.42.0.0/16, --enable-leader-migration", "--cloud-provider is not aws", ""},
		{"--cloud-provider=aws, --cluster-cidr=10.42.0.0/16, --enable-leader-migration", "", ""},
		{"--cloud-provider=aws, --cluster-cidr=, --enable-leader-migration", "routes are on without --cluster-cidr", ""},
		{"--cloud-provider=aws-x, --enable-leader-migration", "routes are on without --cluster-cidr: the manager exits as soon as it acquires the lease / " + RoutesFix + ";  --cloud-provider is not aws", ""},
		{"--cloud-provider=aws-x, --configure-cloud-routes=false, --enable-leader-migration", "--cloud-provider is not aws", ""},
		{"--cloud-provider=openstack", "", ""},
	} {
		b := leadermigration.Bundle{Holder: parsed(t, strings.Replace(workload, "ARGS", c.args, 1)), Key: "addons"}
		for want, got := range map[string]string{"unsafe " + c.unsafe: "unsafe " + printed(of(func(f *transform.Findings) { CCMArgsUnsafe.Check(withManager(inTree, b, transform.Target{}), f) })), "second " + c.second: "second " + printed(of(func(f *transform.Findings) { CCMFlagMissing.Check(withManager(inTree, b, transform.Target{}), f) }))} {
			_, want, _ = strings.Cut(want, " ")
			_, got, _ = strings.Cut(got, " ")
			assert.Truef(t, (want != "" || got == "") && strings.Contains(got, want), "%s: %q, not %q", c.args, got, want)
		}
		got := printed(of(func(f *transform.Findings) {
			CCMFlagMissing.Check(withManager(inTree, b, transform.Target{NoLeaderMigration: true}), f)
		}))
		assert.Truef(t, c.second == "" || strings.HasPrefix(got, "warning "), "two owners that were chosen: %q", got)
		got = printed(of(func(f *transform.Findings) { CCMFlagMissing.Check(withManager(external, b, transform.Target{}), f) }))
		assert.Truef(t, got == "", "an external manager is no owner: %q", got)
	}
	none := (leadermigration.Bundle{Holder: parsed(t, "a: b\n"), Key: "addons"})
	assert.True(t, len(of(func(f *transform.Findings) {
		CCMArgsUnsafe.Check(withManager(inTree, none, transform.Target{}), f)
		CCMFlagMissing.Check(withManager(inTree, none, transform.Target{}), f)
	})) == 0, "a manager is found where none is")
}

func TestAFindingSaysWhatElseToDo(t *testing.T) {
	at := parsed(t, "provider: external\n").Get("provider")
	for got, want := range map[string]string{
		printed(of(func(f *transform.Findings) { CCMNotInFile.Check([]Absent{{at, "or add the chart"}}, f) })):              "--accept " + CCMNotInFile.ID + "; or add the chart",
		printed(of(func(f *transform.Findings) { CloudConfigLost.Check([]Ignored{{At: at, Why: ", and no one can"}}, f) })): "then --accept " + CloudConfigLost.ID,
		printed(of(func(f *transform.Findings) { CloudConfigLost.Check([]Ignored{{At: at, Carried: true}}, f) })):           "note an external provider",
		printed(of(func(f *transform.Findings) { FindInTreeProvider(at, k8s.Upgrade{From: "v1.26.5"}, f) })):                "migrate on 1.26",
		printed(of(func(f *transform.Findings) { FindInTreeProvider(at, k8s.Upgrade{From: "v1.28.5"}, f) })):                "apply the stages that rke-lm plan shows",
		CheckProvider([]args.Arg{args.With("cloud-provider", "gce").At(at)}, "kubelet", false).Error():                      `kubelet has the cloud provider "gce"`,
	} {
		assert.Contains(t, got, want)
	}
}

func TestAnImageOf127HasNoInTreeProviderAlsoWithADigest(t *testing.T) {
	for image, want := range map[string]bool{"rancher/hardened-kubernetes:v1.27.16-rke2r1": true, "a/b:v1.27.1@sha256:abc": true, "a/b:v1.26.15": false, "host:5000/a": false} {
		var found transform.Findings
		removed := FindInTreeImage(parsed(t, "image: "+image+"\n").Get("image"), &found)
		assert.Truef(t, removed == want && len(found) > 0 == want, "%s: %+v", image, found)
	}
}
