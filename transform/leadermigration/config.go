// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The managers, as a configuration names them.
const (
	Manager      = "kube-controller-manager"
	CloudManager = "cloud-controller-manager"
	wildcard     = "*"
)

const (
	// Flag makes a manager take part in a migration.
	Flag = "enable-leader-migration"
	// ConfigFlag names the file with a manager's configuration; without Flag it is
	// ignored silently.
	ConfigFlag = "leader-migration-config"
	// ConfigFile is the usual name of that file.
	ConfigFile = "leadermigration.conf"
	// Kind is that of a configuration.
	Kind = "LeaderMigrationConfiguration"

	group = "controllermanager.config.k8s.io"
)

// Form says which manager a configuration gives the controllers to.
type Form string

// The forms. Before and after the switch each manager may name itself; the
// wildcard serves both for the whole of the migration.
const (
	Initial  Form = "initial"  // kube-controller-manager names itself
	Wildcard Form = "wildcard" // either may hold the lease
	Target   Form = "target"   // cloud-controller-manager names itself
)

// Forms lists all forms.
func Forms() []string { return []string{string(Initial), string(Wildcard), string(Target)} }

// Config is what a configuration is made for. Versions are releases or minors,
// such as "v1.26.15+rke2r1" or "v1.26".
type Config struct {
	Component  string // the manager that reads it
	Kubernetes string // of the cluster
	CCM        string // of the cloud-controller-manager's image; "" for the cluster's
	Form       Form   // "" for Wildcard, or a manager's own where it knows none (1.21)
	Lease      string // "" for Lease
	NodeIPAM   bool   // for a provider whose cloud-controller-manager implements it; that of AWS does not
}

// Make returns the text of a LeaderMigrationConfiguration: YAML, one document
// without markers, with a final line break. It fails for a component, version or
// form that no manager has, and for a lease that cannot have that name.
func Make(c Config) (string, error) {
	version, err := c.minor()
	if err != nil {
		return "", err
	}
	component, err := c.component(version)
	if err != nil {
		return "", err
	}
	if err := CheckLease(c.lease()); err != nil {
		return "", err
	}
	api := apiVersions(version)[0]
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: %s/%s\nkind: %s\nleaderName: %s\n", group, api, Kind, c.lease())
	if needsLock(api) {
		b.WriteString("resourceLock: leases\n")
	}
	b.WriteString("controllerLeaders:\n")
	for _, name := range migrated(version, c.NodeIPAM) {
		fmt.Fprintf(&b, "  - name: %s\n    component: %s\n", name, component)
	}
	return b.String(), nil
}

// CheckLease fails for what is no name of a Lease.
func CheckLease(name string) error {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return errors.New("the lease's name is not one that Kubernetes allows; use lower case letters, digits, dashes and dots")
	}
	return nil
}

func (c Config) lease() string { return cmp.Or(c.Lease, Lease) }

// Reader returns what is known of the manager that reads the configuration; it
// fails as Make does for components and versions.
func (c Config) Reader() (Reader, error) {
	minor, err := c.minor()
	return Reader{Component: c.Component, Version: minor, Lease: c.Lease, NodeIPAM: c.NodeIPAM}, err
}

// minor returns the minor of the manager that reads the configuration.
func (c Config) minor() (string, error) {
	version, what := c.Kubernetes, "Kubernetes version"
	switch c.Component {
	case Manager:
	case CloudManager:
		if c.CCM != "" {
			version, what = c.CCM, "version of the cloud-controller-manager"
		}
	default:
		return "", fmt.Errorf("no component %q reads a configuration; name %s or %s", c.Component, Manager, CloudManager)
	}
	minor := semver.MajorMinor(version)
	switch {
	case minor == "":
		return "", fmt.Errorf("the %s is not a version such as v1.26; set it", what)
	case len(apiVersions(minor)) == 0:
		return "", fmt.Errorf("the %s is %s, and leader migration requires v1.21 or later; use a later version", what, minor)
	}
	return minor, nil
}

// component returns which manager has to run the controllers, as YAML.
func (c Config) component(version string) (string, error) {
	form := cmp.Or(c.Form, usualForm(c.Component, version))
	switch {
	case form == Wildcard && !knowsWildcard(version):
		return "", fmt.Errorf("%s %s reads * as a name, not as any component; use the form %s", c.Component, version, usualForm(c.Component, version))
	case form == Wildcard:
		return `"*"`, nil
	case form == own(c.Component):
		return c.Component, nil
	case form == Initial || form == Target:
		return "", fmt.Errorf("with the form %s %s would run none of the controllers; use %s or %s", form, c.Component, own(c.Component), Wildcard)
	}
	return "", fmt.Errorf("unknown form %q; use one of %s", form, strings.Join(Forms(), ", "))
}

func usualForm(component, version string) Form {
	if knowsWildcard(version) {
		return Wildcard
	}
	return own(component)
}

// own returns the form in which a component names itself.
func own(component string) Form {
	if component == CloudManager {
		return Target
	}
	return Initial
}
