// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
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
	if !k8s.IsName(name) {
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

// Read returns the configurations in a document: itself, or those in the data of
// a ConfigMap or the stringData of a Secret; none for any other. Wildcards without
// quotes are findings, and are read as if they had them. It fails for what is no
// YAML even then.
func Read(c yamledit.Chunk) ([]yamledit.Node, []transform.Finding, error) {
	quoted, lines := quoteWildcards(string(c.Bytes), c.Line)
	c.Bytes = []byte(quoted)
	doc, err := transform.Parse(c)
	if err != nil {
		return nil, unquoted(c.File, lines), err
	}
	roots, err := configurations(doc.Root())
	return roots, unquoted(c.File, lines), err
}

// configurations returns the configurations in a document.
func configurations(root yamledit.Node) ([]yamledit.Node, error) {
	if root.StringAt("kind") == Kind {
		return []yamledit.Node{root}, nil
	}
	var found []yamledit.Node
	for _, e := range append(root.Get("data").Entries(), root.Get("stringData").Entries()...) {
		if s := e.Value.StringAt(); !strings.Contains(s, Kind) {
			continue
		}
		in, err := e.Value.Embedded()
		if err != nil {
			return nil, err
		}
		found = append(found, lists.Found(in.Documents(), configurationIn)...)
	}
	return found, nil
}

// Embedded reads the configuration in a string, as Read reads those of a file; a
// string that holds none has no node.
func Embedded(at yamledit.Node) (yamledit.Node, []transform.Finding, error) {
	quoted, lines := quoteWildcards(at.StringAt(), at.Line())
	if len(lines) == 0 {
		in, err := at.Embedded()
		if err != nil {
			return yamledit.Node{}, nil, err
		}
		return yamledit.First(lists.Found(in.Documents(), configurationIn)...), nil, nil
	}
	var docs []*yamledit.Document
	for _, chunk := range yamledit.Split(at.Document().File(), []byte(quoted)) {
		chunk.Line += at.Line()
		doc, err := yamledit.Parse(chunk)
		if err != nil {
			return yamledit.Node{}, nil, err
		}
		docs = append(docs, doc)
	}
	return yamledit.First(lists.Found(docs, configurationIn)...), unquoted(at.Document().File(), lines), nil
}

// configurationIn returns the root of a document, and whether it is a configuration.
func configurationIn(d *yamledit.Document) (yamledit.Node, bool) {
	return d.Root(), d.Root().StringAt("kind") == Kind
}

// bareWildcard is how Kubernetes' own page prints a component: YAML takes the
// star for the beginning of an alias.
var bareWildcard = regexp.MustCompile(`(?m)^([^#\n]*\bcomponent:[ \t]+)\*([ \t]*(?:[,}#\r].*)?)$`)

// quoteWildcards puts quotes around bare wildcards, and returns the lines of the
// file that hold them, where the text begins after so many lines.
func quoteWildcards(text string, before int) (string, []int) {
	lines := lists.Map(bareWildcard.FindAllStringIndex(text, -1), func(at []int) int { return before + 1 + strings.Count(text[:at[0]], "\n") })
	return bareWildcard.ReplaceAllString(text, `$1"*"$2`), lines
}

// unquoted returns a finding for each line with a bare wildcard.
func unquoted(file string, lines []int) []transform.Finding {
	return ruleOf(wildcardUnquoted).Report(lists.Map(lines, func(line int) transform.Finding {
		return transform.Finding{File: file, Line: line, Message: "* without quotes is not valid YAML, and the manager exits", Fix: `write component: "*"`}
	}), nil)
}

// controller is one that may be migrated, by its names. A manager matches the
// names under which it registers its controllers, and these changed in 1.28; the
// default configuration of later managers names two that none of them registers
// (k8s.io/controller-manager, k8s.io/cloud-provider/names).
type controller struct{ old, new string }

var (
	cloudControllers = []controller{
		{"route", "node-route-controller"},
		{"service", "service-lb-controller"},
		{"cloud-node-lifecycle", "cloud-node-lifecycle-controller"},
	}
	nodeIPAM  = controller{"nodeipam", "node-ipam-controller"}
	cloudNode = controller{"cloud-node", "cloud-node-controller"}
	// listed are those that a configuration may list.
	listed = append(slices.Clone(cloudControllers), nodeIPAM)
)

// name returns what a manager of a version calls the controller.
func (c controller) name(version string) string {
	if Renamed(version) {
		return c.new
	}
	return c.old
}

// is reports whether a manager of a version knows the controller by a name; ""
// means any version.
func (c controller) is(name, version string) bool {
	return name == c.name(version) || version == "" && name == c.new
}

// either reports whether the name is one that some version uses.
func (c controller) either(name string) bool { return name == c.old || name == c.new }

// known returns the cloud controller with an older name.
func known(old string) controller {
	c, _ := lists.Find(cloudControllers, func(c controller) bool { return c.old == old })
	return c
}

// Registers reports whether a manager of a version, "" for any, calls a controller that is known by its
// older name so.
func Registers(version, old, name string) bool { return known(old).is(name, version) }

// ControllersFlag is the argument of a manager that says which controllers it starts.
const ControllersFlag = "controllers"

// Starts reports whether a manager with this value of --controllers starts a controller that is known by
// its older name; managers accept both names (k8s.io/controller-manager/app, IsControllerEnabled).
func Starts(controllers, old string) bool {
	all := false
	for name := range strings.SplitSeq(controllers, ",") {
		name = strings.TrimSpace(name)
		switch on := strings.TrimPrefix(name, "-"); {
		case name == "*":
			all = true
		case on == old || on == known(old).new:
			return on == name
		}
	}
	return all
}

// Renamed reports whether managers of a version have the newer names.
func Renamed(version string) bool { return k8s.From(version, "v1.28") }

// SameNames reports whether managers of two versions call the controllers alike.
func SameNames(a, b string) bool { return Renamed(a) == Renamed(b) }

// knowsWildcard reports whether managers of a version read * as any component.
func knowsWildcard(version string) bool { return version == "" || k8s.From(version, "v1.22") }

// migrated lists what a manager of a version may hand over.
func migrated(version string, withNodeIPAM bool) []string {
	names := lists.Map(cloudControllers, func(c controller) string { return c.name(version) })
	return append(names, lists.If(withNodeIPAM, nodeIPAM.name(version))...)
}

// apiVersions lists the versions of the configuration that a manager reads, the
// best one first; all of them where its own version is not known.
func apiVersions(version string) []string {
	switch {
	case version == "", k8s.From(version, "v1.24"):
		return []string{"v1", "v1beta1", "v1alpha1"}
	case k8s.From(version, "v1.22"):
		return []string{"v1beta1", "v1alpha1"}
	case k8s.From(version, "v1.21"):
		return []string{"v1alpha1"}
	}
	return nil
}

// needsLock reports whether a version of the configuration has resourceLock.
func needsLock(api string) bool { return slices.Contains([]string{"v1alpha1", "v1beta1"}, api) }
