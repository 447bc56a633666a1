// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestTheLeaseOfAConfigurationIsOneThatTheManagersMayLock(t *testing.T) {
	other := with(func(t *transform.Target) { t.LeaseName = "demo-migration" })
	p := planned(t, release, onAWS, other)
	installed, switched := configOf(step(t, p, stages.InstallCCM).Documents[0].After), configOf(step(t, p, stages.SwitchToExternal).Documents[0].After)
	untold := strings.ReplaceAll(installed, "        - leader-migration-config="+managerConfig+"\n", "")
	ungranted := strings.Replace(switched, "- demo-migration", "- another", 1)
	for _, c := range []struct {
		name, config string
		target       transform.Target
		found        bool
	}{
		{"the one that was chosen", installed, other, false},
		{"both managers are determined, and may", installed, chosen, false},
		{"kube-controller-manager is not determined", untold, chosen, true},
		{"kube-controller-manager is external", switched, chosen, false},
		{"no one can", ungranted, chosen, true},
	} {
		found := about(linted(t, release, c.config, c.target).Findings(""), "lease-name-differs")
		assert.Equal(t, (len(found) > 0), c.found, c.name, found, c.config)
	}
}

func TestConfigurationsAreNoUseWithoutTheirFlag(t *testing.T) {
	const named = "leader-migration-config=/etc/own.conf"
	checkRule(t, "config-without-flag", []ruleCase{
		{"with the flag", "", onAWS + "  kube-controller-manager-arg: [enable-leader-migration, " + named + "]\n", chosen, nil},
		{"without", "", onAWS + "  kube-controller-manager-arg:\n  - " + named + "\n", chosen, []string{"error 10"}},
		{"with a flag that is off", "", onAWS + "  kube-controller-manager-arg: [enable-leader-migration=false, " + named + "]\n", chosen, []string{"error 9"}},
		{"where no manager runs", "", split + onAWS + "machineSelectorConfig:\n- config: {kube-controller-manager-arg: [" + named + "]}\n  " + forWorkers + "\n", chosen, nil},
		{"of an external manager", "", strings.Replace(onAWS, "aws", "external", 1) + "  kube-controller-manager-arg:\n  - " + named + "\n", chosen, []string{"note 10"}},
		{"in the chart", "", but(1, "args: [--cloud-provider=aws, --"+named+"]"), chosen, []string{"error 20"}},
		{"in the chart, with the flag", "", but(1, "args: [--enable-leader-migration, --"+named+"]"), chosen, nil},
	})
}

func TestConfigurationsThatNoOnePutsThere(t *testing.T) {
	const named = onAWS + "  kube-controller-manager-arg: [enable-leader-migration, leader-migration-config=/etc/own.conf]\n"
	const chartArgs = "args: [--enable-leader-migration, --leader-migration-config=/etc/own/c.conf]"
	files := func(selector string) string {
		return "machineSelectorFiles:\n- fileSources:\n  - configMap: {name: own, items: [{key: c, path: /etc/own.conf}]}\n" + selector
	}
	mounted := func(mount string) string {
		return onAWS + withChart(append([]string{"extraVolumes: [{name: own, secret: {secretName: own}}]", "extraVolumeMounts: [" + mount + "]", chartArgs}, good[2:]...)...)
	}
	checkRule(t, "config-not-mounted", []ruleCase{
		{"for all machines", "", split + files("") + named, chosen, nil},
		{"for control planes", "", split + files("  "+forControlPlanes+"\n") + named, chosen, nil},
		{"for others", "", split + files("  "+forEtcd+"\n") + named, chosen, []string{"error 17"}},
		{"another file", "", named + strings.Replace(files(""), "own.conf", "other.conf", 1), chosen, []string{"error 9"}},
		{"no files", "", named, chosen, []string{"error 9"}},
		{"a file that nothing reads", "", onAWS + "  kube-controller-manager-arg: [leader-migration-config=/etc/own.conf]\n", chosen, nil},
		{"a selector that Kubernetes refuses", "", named + files("  machineLabelSelector: {matchExpressions: [{key: a, operator: Sometimes}]}\n"), chosen, []string{"error 9"}},
		{"mounted by the chart", "", mounted("{name: own, mountPath: /etc/own}"), chosen, nil},
		{"mounted as one file", "", mounted("{name: own, mountPath: /etc/own/c.conf, subPath: c}"), chosen, nil},
		{"mounted elsewhere", "", mounted("{name: own, mountPath: /etc/other}"), chosen, []string{"error 21"}},
		{"mounted from no volume", "", mounted("{name: other, mountPath: /etc/own}"), chosen, []string{"error 21"}},
		{"not mounted", "", but(1, chartArgs), chosen, []string{"error 20"}},
	})
}

const (
	ownFile   = "/etc/own&only.conf" // JSON can escape an ampersand
	readsOwn  = onAWS + "  kube-controller-manager-arg: [enable-leader-migration, leader-migration-config=" + ownFile + "]\n"
	fromMap   = "machineSelectorFiles:\n- fileSources:\n  - configMap: {name: own, items: [{key: c, path: " + ownFile + "}]}\n"
	allowed   = "metadata: {name: own, namespace: fleet-default, annotations: {" + authorizedKey + ": \"other,demo\"}}\n"
	plainMap  = "kind: ConfigMap\n" + allowed
	plainness = "apiVersion: controllermanager.config.k8s.io/v1\nkind: LeaderMigrationConfiguration\nleaderName: cloud-provider-extraction-migration\ncontrollerLeaders:\n"
)

// listing is a configuration that lists controllers.
func listing(names ...string) string {
	text := plainness
	for _, n := range names {
		text += "- {name: " + n + ", component: \"*\"}\n"
	}
	return text
}

func complete() string { return listing("route", "service", "cloud-node-lifecycle") }

// mapOf is a ConfigMap with a text under the key c.
func mapOf(head, text string) string {
	return head + "data:\n  c: |\n    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

// together gathers a configuration and objects as those of one folder.
func together(t *testing.T, config string, objects ...string) []*yamledit.Document {
	t.Helper()
	cluster := parse(t, document(release, config))
	var related []*yamledit.Document
	for i, text := range objects {
		related = append(related, assert.Value(yamledit.ParseString(fmt.Sprintf("o%d.yaml", i), text))(t))
	}
	assert.True(t, Format().Grouping.MayGroup(cluster), "the cluster names no object")
	all, err := Format().Grouping.Group([]*yamledit.Document{cluster}, related)
	assert.Mustf(t, err == nil && len(all) == 1, "%v, %v", all, err)
	return all[0]
}

func TestTheConfigurationThatAnObjectHoldsIsChecked(t *testing.T) {
	secret := func(text string) string {
		return "kind: Secret\n" + allowed + "data: {c: " + base64.StdEncoding.EncodeToString([]byte(text)) + "}\n"
	}
	for _, c := range []struct {
		name, config string
		objects      []string
		want         []string
	}{
		{"all is well", readsOwn + fromMap, []string{mapOf(plainMap, complete())}, nil},
		{"a controller is missing", readsOwn + fromMap, []string{mapOf(plainMap, listing("route", "service"))}, []string{"controller-not-listed o0.yaml:8 data.c.controllerLeaders"}},
		{"a star without quotes", readsOwn + fromMap, []string{mapOf(plainMap, strings.ReplaceAll(complete(), "\n- {name: route, component: \"*\"}", "\n- name: route\n  component: *"))}, []string{"wildcard-unquoted o0.yaml:10 data.c"}},
		{"another key", readsOwn + fromMap, []string{strings.Replace(mapOf(plainMap, complete()), "  c: |", "  d: |", 1)}, []string{"config-not-mounted o0.yaml:2 metadata.name"}},
		{"another text", readsOwn + fromMap, []string{mapOf(plainMap, "hello\n")}, []string{"config-not-mounted o0.yaml:4 data.c"}},
		{"no authorization", readsOwn + fromMap, []string{mapOf(strings.Replace(plainMap, "other,demo", "other", 1), complete())}, []string{"machine-files-refused o0.yaml:2 metadata"}},
		{"another namespace", readsOwn + fromMap, []string{mapOf(strings.Replace(plainMap, "fleet-default", "kube-system", 1), complete())}, []string{"object-not-given c.yaml:12 spec.rkeConfig.machineSelectorFiles[0].fileSources[0].configMap"}},
		{"another kind", readsOwn + fromMap, []string{strings.Replace(mapOf(plainMap, complete()), "ConfigMap", "Secret", 1)}, []string{"object-not-given c.yaml:12 spec.rkeConfig.machineSelectorFiles[0].fileSources[0].configMap"}},
		{"a Secret", readsOwn + strings.Replace(fromMap, "configMap", "secret", 1), []string{secret(complete())}, nil},
		{"a Secret that lacks a controller", readsOwn + strings.Replace(fromMap, "configMap", "secret", 1), []string{secret(listing("route", "service"))}, []string{"controller-not-listed o0.yaml:3 data.c.controllerLeaders"}},
		{"a Secret in plain text", readsOwn + strings.Replace(fromMap, "configMap", "secret", 1), []string{strings.Replace(mapOf(strings.Replace(plainMap, "ConfigMap", "Secret", 1), listing("route", "service")), "\ndata:", "\nstringData:", 1)}, []string{"controller-not-listed o0.yaml:8 stringData.c.controllerLeaders"}},
		{"the hash of other data", readsOwn + strings.Replace(fromMap, "key: c,", "key: c, hash: bm90,", 1), []string{mapOf(plainMap, complete())}, []string{"machine-files-refused c.yaml:12 spec.rkeConfig.machineSelectorFiles[0].fileSources[0].configMap"}},
		{"two objects in one source", readsOwn + fromMap + "    secret: {name: more, items: []}\n", []string{mapOf(plainMap, complete())}, []string{"machine-files-refused c.yaml:12 spec.rkeConfig.machineSelectorFiles[0].fileSources[0].configMap"}},
		{"a selector that Kubernetes refuses", readsOwn + fromMap + "- machineLabelSelector: {matchExpressions: [{key: a, operator: Sometimes}]}\n", []string{mapOf(plainMap, complete())}, []string{"machine-files-refused c.yaml:13 spec.rkeConfig.machineSelectorFiles[1].machineLabelSelector"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := assert.Value(Format().Lint(together(t, c.config, c.objects...), chosen))(t)
			var got []string
			for _, f := range cluster.Findings("") {
				aboutConfig := slices.ContainsFunc(leadermigration.Rules(), func(r transform.Rule) bool { return r.ID == f.Rule })
				if aboutConfig || slices.Contains([]string{"config-not-mounted", "machine-files-refused", "object-not-given"}, f.Rule) {
					got = append(got, fmt.Sprintf("%s %s:%d %s", f.Rule, f.File, f.Line, f.Path))
				}
			}
			assert.DeepEqual(t, got, c.want)
		})
	}
}

func TestTheConfigurationsOfBothManagersAreCompared(t *testing.T) {
	chart := withChart(append([]string{"extraVolumes: [{name: own, configMap: {name: own}}]", "extraVolumeMounts: [{name: own, mountPath: /etc/own}]",
		"args: [--cloud-provider=aws, --configure-cloud-routes=false, --enable-leader-migration=true, --leader-migration-config=/etc/own/c]", good[0]}, good[2:]...)...)
	inner := func(names ...string) string {
		own := mapOf("---\nkind: ConfigMap\nmetadata: {name: own, namespace: kube-system}\n", listing(names...))
		return "  " + strings.ReplaceAll(own, "\n", "\n  ")
	}
	docs := together(t, readsOwn+fromMap+chart+inner("route", "service", "cloud-node-lifecycle", "nodeipam"), mapOf(plainMap, complete()))
	cluster := assert.Value(Format().Lint(docs, chosen))(t)
	assert.Truef(t, lacks(cluster, "o0.yaml") && !lacks(cluster, "c.yaml"), "only kube-controller-manager lacks nodeipam: %v", cluster.Findings(""))
	docs = together(t, readsOwn+fromMap+chart+inner("route", "cloud-node-lifecycle"), mapOf(plainMap, complete()))
	cluster = assert.Value(Format().Lint(docs, chosen))(t)
	assert.Truef(t, lacks(cluster, "c.yaml"), "the cloud-controller-manager lacks service: %v", cluster.Findings(""))
}

// lacks reports whether a file lacks a controller that the other manager lists.
func lacks(c transform.Cluster, file string) bool {
	return slices.ContainsFunc(c.Findings(""), func(f transform.Finding) bool {
		return f.Rule == "controller-not-listed" && strings.Contains(f.Message, "the other manager's") && f.File == file
	})
}

func TestAnObjectIsADocumentOfItsClusterThroughAllStages(t *testing.T) {
	files := strings.ReplaceAll(fromMap, ownFile, managerConfig)
	docs := together(t, onAWS+files, mapOf(plainMap, complete()))
	p := assert.Value(plan.Build(Format(), docs, chosen))(t)
	for _, s := range p.Steps {
		assert.Truef(t, len(s.Documents) == 2 && !s.Documents[1].Changes() && s.Documents[1].After == docs[1], "%s: %+v", s.Stage.Name, s.Documents)
	}
	assert.Equal(t, len(p.Save().Others), 1, "a saved plan has no checksum of the object")
	enable, _ := p.Step("enable-leader-migration")
	assert.Truef(t, len(enable.Stage.Before) == 0, "nothing else brings the configuration: %v", enable.Stage.Before)
}

func TestAnObjectThatTwoClustersNameIsADocumentOfBoth(t *testing.T) {
	a, b := parse(t, document(release, readsOwn+fromMap)), parse(t, document(release, readsOwn+fromMap))
	object := assert.Value(yamledit.ParseString("o.yaml", mapOf(plainMap, complete())))(t)
	all, err := Format().Grouping.Group([]*yamledit.Document{a, b}, []*yamledit.Document{object})
	want := [][]*yamledit.Document{{a, object}, {b, object}}
	assert.Truef(t, err == nil && slices.EqualFunc(all, want, slices.Equal[[]*yamledit.Document]), "%v, %v", all, err)
}

func TestAClusterThatNamesNoConfigurationIsReadByItself(t *testing.T) {
	for name, config := range map[string]string{
		"no files":                   onAWS,
		"files of something else":    onAWS + strings.Replace(fromMap, ownFile, "/etc/audit.yaml", 1),
		"a configuration without it": onAWS + fromMap,
		"malformed files":            onAWS + "machineSelectorFiles: {fileSources: 1}\n",
	} {
		assert.True(t, !Format().Grouping.MayGroup(parse(t, document(release, config))), name, "waits for other documents")
	}
}

func TestObjectsAreRecognizedByTheirKindAndWhatTheyHold(t *testing.T) {
	for text, want := range map[string]bool{
		mapOf(plainMap, complete()): true,
		"kind: Secret\n" + allowed:  true,
		"{\"kind\": \"ConfigMap\", \"data\": {\"c\": \"kind: LeaderMigrationConfiguration\"}}": true,
		"kind: ConfigMap\ndata: {a: b}\n":                                          false,
		"kind: Deployment\n" + allowed:                                             false,
		"# kind: ConfigMap\n" + plainness:                                          false,
		"kind: ConfigMap\ndata: {c: \"kind: LeaderMigrat\\x69onConfiguration\"}\n": true,
	} {
		assert.Equal(t, Format().Grouping.Related.Has(parse(t, text)), want, text)
	}
}
