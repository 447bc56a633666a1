// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// configuration is the text of one, in which all controllers have one component.
func configuration(version, lease, lock, component string, controllers ...string) string {
	text := "apiVersion: controllermanager.config.k8s.io/" + version + "\nkind: LeaderMigrationConfiguration\nleaderName: " + lease + "\n" + lock + "controllerLeaders:\n"
	for _, name := range controllers {
		text += "  - name: " + name + "\n    component: " + component + "\n"
	}
	return text
}

func TestConfigurationsAreThoseOfTheirManager(t *testing.T) {
	const lease, lock, star = "cloud-provider-extraction-migration", "resourceLock: leases\n", `"*"`
	for _, c := range []struct {
		name string
		from Config
		want string
	}{
		{"in-tree, from 1.24 on", Config{Component: Manager, Kubernetes: "v1.26.15+rke2r1"},
			configuration("v1", lease, "", star, "route", "service", "cloud-node-lifecycle")},
		{"in-tree, naming itself, with a lock that v1beta1 asks for", Config{Component: Manager, Kubernetes: "v1.23", Form: Initial, Lease: "harbour-migration"},
			configuration("v1beta1", "harbour-migration", lock, "kube-controller-manager", "route", "service", "cloud-node-lifecycle")},
		{"external, with the names of its image", Config{Component: CloudManager, Kubernetes: "v1.26", CCM: "v1.28.1"},
			configuration("v1", lease, "", star, "node-route-controller", "service-lb-controller", "cloud-node-lifecycle-controller")},
		{"1.21, which knows no wildcard", Config{Component: CloudManager, Kubernetes: "v1.21", NodeIPAM: true},
			configuration("v1alpha1", lease, lock, "cloud-controller-manager", "route", "service", "cloud-node-lifecycle", "nodeipam")},
	} {
		got, err := Make(c.from)
		assert.Truef(t, err == nil && got == c.want, "%s: %v\n%s", c.name, err, got)
	}
}

func TestWhatNoManagerReadsIsNotMade(t *testing.T) {
	for _, c := range []struct {
		name string
		from Config
		want string
	}{
		{"another component", Config{Component: "kube-scheduler", Kubernetes: "v1.26"}, "no component"},
		{"no version", Config{Component: Manager}, "Kubernetes version is not a version"},
		{"an image that names no release", Config{Component: CloudManager, Kubernetes: "v1.26", CCM: "latest"}, "version of the cloud-controller-manager is not a version"},
		{"before leader migration", Config{Component: Manager, Kubernetes: "v1.20.15"}, "leader migration requires v1.21 or later; use a later version"},
		{"a wildcard that is not known", Config{Component: Manager, Kubernetes: "v1.21", Form: Wildcard}, "use the form initial"},
		{"the other manager's form", Config{Component: CloudManager, Kubernetes: "v1.26", Form: Initial}, "use target or wildcard"},
		{"no form", Config{Component: CloudManager, Kubernetes: "v1.26", Form: "final"}, "use one of initial, wildcard, target"},
		{"a lease with a break in its name", Config{Component: Manager, Kubernetes: "v1.26", Lease: "a\nb: c"}, "lease's name"},
	} {
		text, err := Make(c.from)
		assert.Truef(t, err != nil && strings.Contains(err.Error(), c.want) && text == "", "%s: %v\n%s", c.name, err, text)
	}
}

// every calls f for all configurations of a manager from 1.21 to 1.36.
func every(component string, f func(Config, string)) {
	for minor := 21; minor <= 36; minor++ {
		for _, form := range append(Forms(), "") {
			for _, ipam := range []bool{false, true} {
				c := Config{Component: component, Kubernetes: fmt.Sprintf("v1.%d", minor), Form: Form(form), NodeIPAM: ipam}
				if text, err := Make(c); err == nil {
					f(c, text)
				}
			}
		}
	}
}

func parsed(t *testing.T, text string) yamledit.Node {
	t.Helper()
	roots, _, err := readAll("leadermigration.conf", text)
	assert.Must(t, err == nil && len(roots) == 1, err, len(roots))
	return roots[0]
}

func TestNothingIsWrongWithWhatIsMade(t *testing.T) {
	n := 0
	for _, component := range []string{Manager, CloudManager} {
		every(component, func(c Config, text string) {
			n++
			r := Reader{Component: component, Version: c.Kubernetes, Lease: Lease, NodeIPAM: c.NodeIPAM}
			found := Lint(parsed(t, text), r)
			assert.Truef(t, len(found) == 0, "%+v: %+v\n%s", c, found, text)
		})
	}
	assert.Truef(t, n == 2*2*(16*2+15), "%d configurations were made", n)
}

func TestBothSidesOfAnyTwoVersionsAgree(t *testing.T) {
	every(Manager, func(m Config, text string) {
		manager := parsed(t, text)
		every(CloudManager, func(c Config, text string) {
			found := LintBoth(manager, parsed(t, text))
			agree := m.NodeIPAM == c.NodeIPAM
			assert.Truef(t, agree == (len(found) == 0), "%+v and %+v: %+v", m, c, found)
		})
	})
}
