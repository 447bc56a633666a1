// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// good is a configuration that any manager from 1.24 to 1.27 reads.
const good = `apiVersion: controllermanager.config.k8s.io/v1
kind: LeaderMigrationConfiguration
leaderName: cloud-provider-extraction-migration
controllerLeaders:
  - name: route
    component: "*"
  - name: service
    component: "*"
  - name: cloud-node-lifecycle
    component: "*"
`

// readAll reads all documents of a text.
func readAll(file, text string) (roots []yamledit.Node, found []transform.Finding, err error) {
	for _, c := range yamledit.Split(file, []byte(text)) {
		more, bare, err := Read(c)
		if err != nil {
			return nil, nil, err
		}
		roots, found = append(roots, more...), append(found, bare...)
	}
	return roots, found, nil
}

// said lists findings as rule:line.
func printed(found []transform.Finding) string {
	return strings.Join(lists.Map(found, func(f transform.Finding) string { return fmt.Sprintf("%s:%d", f.Rule, f.Line) }), " ")
}

func TestRulesOfOneConfiguration(t *testing.T) {
	kcm, ccm := Reader{Component: Manager, Version: "v1.26"}, Reader{Component: CloudManager, Version: "v1.28"}
	change := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(good) }
	for _, c := range []struct {
		name, text string
		by         Reader
		want       string
	}{
		{"nothing is wrong", good, kcm, ""},
		{"nothing is known of the reader", good, Reader{}, ""},
		{"the new names, for any reader", change(": route", ": node-route-controller", ": service", ": service-lb-controller"), Reader{}, ""},
		{"* without quotes is not valid YAML, and the manager exits", change(`"*"`, "*"), kcm, "wildcard-unquoted:6 wildcard-unquoted:8 wildcard-unquoted:10"},
		{"a star without quotes, with a comment", strings.Replace(good, `"*"`, "* # either", 1), kcm, "wildcard-unquoted:6"},
		{"a star without quotes, in a flow", strings.Replace(good, "name: route\n    component: \"*\"", "{component: *, name: route}", 1), kcm, "wildcard-unquoted:5"},
		{"a star in a comment", good + "# component: *\n", kcm, ""},
		{"no list", strings.Split(good, "controllerLeaders")[0], kcm, "empty-leader-list:1"},
		{"an empty list", strings.Split(good, "  - ")[0], kcm, "empty-leader-list:4"},
		{"a list that is none", strings.Split(good, "\n  - ")[0] + " all\n", kcm, "empty-leader-list:4"},
		{"a controller is left out", change("  - name: route\n    component: \"*\"\n", ""), kcm, "controller-not-listed:4"},
		{"a misspelt controller", change("service", "services"), kcm, "unknown-controller:7"},
		{"an entry without a name", change("  - name: service\n    component", "  - component"), kcm, "unknown-controller:7"},
		{"the old names for a new manager", good, ccm, "unknown-controller:5 unknown-controller:7 unknown-controller:9"},
		{"the default names of new managers", change(": route", ": route-controller", ": service", ": service-controller", "lifecycle", "lifecycle-controller"), ccm, "unknown-controller:5 unknown-controller:7"},
		{"the names of both", good + "  - {name: node-route-controller, component: '*'}\n  - {name: service-lb-controller, component: '*'}\n  - {name: cloud-node-lifecycle-controller, component: '*'}\n", ccm, ""},
		{"a controller twice", good + "  - name: route\n    component: cloud-controller-manager\n", Reader{}, "duplicate-controller:11"},
		{"no lease", change("leaderName: cloud-provider-extraction-migration\n", ""), kcm, "lease-name-differs:1"},
		{"a lease that no one can acquire", good, Reader{Lease: "harbour-migration"}, "lease-name-differs:3"},
		{"controllers of the other manager", change(`"*"`, CloudManager), kcm, "component-mirrored:6 component-mirrored:8 component-mirrored:10"},
		{"one's own controllers", change(`"*"`, Manager), kcm, ""},
		{"the reverse", change(`"*"`, Manager), Reader{Component: CloudManager}, "component-mirrored:6 component-mirrored:8 component-mirrored:10"},
		{"controllers of the other manager, whoever reads it", change(`"*"`, CloudManager), Reader{}, ""},
		{"an entry without a component", strings.Replace(good, "    component: \"*\"\n", "", 1), Reader{}, "unknown-component:5"},
		{"a misspelt component", strings.Replace(good, `"*"`, "kube-controler-manager", 1), kcm, "unknown-component:6"},
		{"a wildcard that 1.21 takes for a name", change("/v1", "/v1alpha1", "controllerLeaders", "resourceLock: leases\ncontrollerLeaders"), Reader{Component: Manager, Version: "v1.21"}, "unknown-component:7 unknown-component:9 unknown-component:11"},
		{"cloud-node", good + "  - name: cloud-node\n    component: \"*\"\n", kcm, "cloud-node-listed:11"},
		{"cloud-node by its new name", good + "  - name: cloud-node-controller\n    component: \"*\"\n", Reader{}, "cloud-node-listed:11"},
		{"nodeipam", good + "  - name: nodeipam\n    component: \"*\"\n", kcm, "nodeipam-without-ccm-support:11"},
		{"nodeipam that the provider has", good + "  - name: nodeipam\n    component: \"*\"\n", Reader{Component: Manager, Version: "v1.26", NodeIPAM: true}, ""},
		{"nodeipam by another version's name", good + "  - name: node-ipam-controller\n    component: \"*\"\n", Reader{Version: "v1.26", NodeIPAM: true}, "unknown-controller:11"},
		{"v1beta1 without a lock", change("/v1", "/v1beta1"), kcm, "resource-lock-missing:1"},
		{"another lock", change("/v1", "/v1beta1", "controllerLeaders", "resourceLock: endpoints\ncontrollerLeaders"), kcm, "resource-lock-missing:4"},
		{"v1beta1 with its lock", change("/v1", "/v1beta1", "controllerLeaders", "resourceLock: leases\ncontrollerLeaders"), kcm, ""},
		{"v1 with a lock", change("controllerLeaders", "resourceLock: leases\ncontrollerLeaders"), kcm, "resource-lock-extra:4"},
		{"v1 for a manager that is older", good, Reader{Component: Manager, Version: "v1.23"}, "unknown-api-version:1"},
		{"another group", change("config.k8s.io", "k8s.io"), kcm, "unknown-api-version:1"},
		{"no version of the configuration", change("apiVersion: controllermanager.config.k8s.io/v1\n", ""), kcm, "unknown-api-version:1"},
		{"a misspelt key", change("leaderName", "leadername"), kcm, "lease-name-differs:1 unknown-key:3"},
		{"a misspelt key of an entry", strings.Replace(good, "component:", "Component:", 1), kcm, "unknown-component:5 unknown-key:6"},
	} {
		roots, found, err := readAll("leadermigration.conf", c.text)
		assert.NilError(t, err)
		assert.Equal(t, printed(append(found, Lint(roots[0], c.by)...)), c.want, c.name)
	}
}

func TestRulesOfTwoConfigurations(t *testing.T) {
	for _, c := range []struct{ name, cloud, want string }{
		{"the same on both sides", good, ""},
		{"the names of a later version", strings.NewReplacer(": route", ": node-route-controller", ": service", ": service-lb-controller").Replace(good), ""},
		{"another lease", strings.Replace(good, "extraction", "extract", 1), "lease-name-differs:3"},
		{"no lease is a mistake of its own", strings.Replace(good, "leaderName: cloud-provider-extraction-migration\n", "", 1), ""},
		{"a controller on one side only", strings.Replace(good, "  - name: route\n    component: \"*\"\n", "", 1), "controller-not-listed:4"},
		{"an empty list is a mistake of its own", strings.Split(good, "  - ")[0], ""},
		{"nodeipam on one side only", good + "  - {name: nodeipam, component: '*'}\n", "controller-not-listed:4"},
	} {
		assert.Equal(t, printed(LintBoth(parsed(t, good), parsed(t, c.cloud))), c.want, c.name)
	}
}

func TestConfigurationsAreFoundWhereverTheyTravel(t *testing.T) {
	indented := strings.ReplaceAll(good, "\n", "\n    ")
	for _, c := range []struct {
		name, text string
		line, n    int
	}{
		{"in a file of their own", good, 1, 1},
		{"after another document", "kind: Role\n---\n" + good, 3, 1},
		{"in a ConfigMap", "kind: ConfigMap\ndata:\n  other: text\n  leadermigration.conf: |\n    " + indented, 5, 1},
		{"in a Secret as it is written", "kind: Secret\nstringData:\n  leadermigration.conf: |\n    " + indented, 4, 1},
		{"in a ConfigMap, with a bare star", "kind: ConfigMap\ndata:\n  leadermigration.conf: |\n    " + strings.Replace(indented, `"*"`, "*", 1), 4, 1},
		{"two in one file", good + "---\n" + good, 1, 2},
	} {
		roots, _, err := readAll("in.yaml", c.text)
		assert.Must(t, err == nil && len(roots) == c.n && roots[0].Line() == c.line, c.name, err, len(roots), roots)
		found := Lint(roots[0], Reader{})
		assert.True(t, len(found) == 0, c.name, found)
	}
}

func TestOtherDocumentsHoldNoConfiguration(t *testing.T) {
	for name, text := range map[string]string{"nothing": "", "another kind": "kind: ConfigMap\ndata: {a: b}\n", "a comment": "# LeaderMigrationConfiguration\n"} {
		roots, found, err := readAll("in.yaml", text)
		assert.True(t, err == nil && len(roots)+len(found) == 0, name, roots, found, err)
	}
}

func TestWhatIsNoYAMLIsRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a bracket that stays open", "kind: [\n", "in.yaml:"},
		{"a template", good + "{{ .Values.more }}\n", "in.yaml:11"},
		{"no YAML in a ConfigMap", "kind: ConfigMap\ndata:\n  c: |\n    kind: LeaderMigrationConfiguration\n    leaderName: [\n", "in.yaml:"},
	} {
		_, _, err := readAll("in.yaml", c.text)
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), c.want), c.name, err)
	}
}

func TestAConfigurationInAStringKeepsItsLines(t *testing.T) {
	for _, c := range []struct{ name, star, want string }{
		{"with quotes", `"*"`, ""},
		{"without", "*", "wildcard-unquoted:8"},
	} {
		text := "data:\n  c: |\n    " + strings.ReplaceAll(strings.Replace(good, `"*"`, c.star, 1), "\n", "\n    ")
		d := assert.Value(yamledit.ParseString("in.yaml", text))(t)
		root, found, err := Embedded(d.Root().Get("data", "c"))
		assert.Truef(t, err == nil && root.Line() == 3 && printed(found) == c.want, "%s: %v, line %d, %+v", c.name, err, root.Line(), found)
	}
}
