// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// Mode is how a manager runs a controller.
type Mode int

// A manager starts a controller never, as the leader of its main lease, or as
// the holder of the migration lease.
const (
	Never Mode = iota
	UnderMain
	UnderMigration
)

// Process is what the arguments of a manager make it do.
type Process struct {
	observed.Manager
	Main      string // its main lease
	Migration string // the migration lease
	Elects    bool   // false: it runs everything without a lease
	Loops     bool   // it runs cloud controllers at all
	Flag      bool   // it takes part in a leader migration
	Modes     map[Controller]Mode
	// Since is when its pod was first seen, by our clock; zero where it was there
	// from the first observation on.
	Since time.Time
	// From says where the arguments are from, for a manager that is no pod; else "".
	From string
	// Unreadable says what could not be determined; then Modes says nothing.
	Unreadable string
	// Hidden means that it is the arguments that could not be read; then Loops and
	// Flag say nothing either.
	Hidden bool

	args []args.Arg
}

// ReadProcess works out what a manager does. In-tree AWS is any provider of
// kube-controller-manager that is neither empty nor external.
func ReadProcess(m observed.Manager) Process {
	p := Process{Manager: m, Migration: leadermigration.Lease, Modes: map[Controller]Mode{}}
	p.args = args.Command(m.Args)
	p.Main = p.value("leader-elect-resource-name", m.Component)
	p.Elects = p.on("leader-elect", true)
	p.Flag = p.Elects && p.on(leadermigration.Flag, false)
	provider := p.value("cloud-provider", "")
	p.Loops = m.Component == observed.CloudManager || provider != "" && provider != "external"
	p.modes()
	p.Hidden = hidden(m.Args)
	switch {
	case p.Hidden:
		p.Unreadable, p.Loops, p.Flag = m.Component+" gets its arguments from a shell or from variables", false, false
	case p.unseen() && !p.idle():
		p.Unreadable = m.Component + " has its leases " + p.leasePlace()
	}
	return p
}

// Processes works out what all managers do.
func Processes(managers []observed.Manager) []Process { return lists.Map(managers, ReadProcess) }

func (p *Process) value(name, otherwise string) string {
	if a, set := args.Last(p.args, name); set {
		return a.Value
	}
	return otherwise
}

// Named reports whether the arguments name a cloud provider, or external.
func (p Process) Named() bool { return p.value("cloud-provider", "") != "" }

func (p *Process) on(name string, otherwise bool) bool {
	if a, set := args.Last(p.args, name); set {
		return a.True()
	}
	return otherwise
}

// modes works out how each controller is run.
func (p *Process) modes() {
	if !p.Loops {
		return
	}
	conf, unreadable := p.configuration()
	for _, c := range controllers() {
		if !c.enabled(p.args) || c == Route && !p.routes() {
			continue
		}
		mode, why := UnderMain, ""
		switch {
		case unreadable != "":
			mode, why = Never, unreadable
		case conf != nil:
			mode = conf.mode(c, p.Component, versionOf(p.Image))
		case p.Flag:
			mode, why = p.byDefault(c, versionOf(p.Image))
		}
		p.Modes[c] = mode
		p.Unreadable = cmp.Or(why, p.Unreadable)
	}
}

// routes reports whether the manager writes routes: kube-controller-manager does
// only where it also allocates the nodes' ranges.
func (p *Process) routes() bool {
	return p.on("configure-cloud-routes", true) && (p.Component == observed.CloudManager || p.on("allocate-node-cidrs", false))
}

// versionOf returns the minor of the manager's image, such as v1.26; "" where its tag has none.
func versionOf(image string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(k8s.ParseImage(image).Tag, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	if _, err := strconv.Atoi(minor); err != nil || major != "1" {
		return ""
	}
	return "v1." + minor
}

// idle reports whether the process runs none of the controllers, whatever it
// leads.
func (p Process) idle() bool {
	return p.Unreadable == "" && !slices.ContainsFunc(controllers(), func(c Controller) bool { return p.Modes[c] != Never })
}

// MigrationLease returns the name of the migration lease that the managers with the
// flag use, or the usual one.
func MigrationLease(processes []Process) string {
	p, _ := lists.Find(processes, hasFlag)
	return cmp.Or(p.Migration, leadermigration.Lease)
}

// Controller is one of the migrated controllers, by the name that managers up to
// 1.27 register.
type Controller string

// The migrated controllers (k8s.io/controller-manager).
const (
	Service       Controller = "service"
	Route         Controller = "route"
	NodeLifecycle Controller = "cloud-node-lifecycle"
)

// controllers lists them all.
func controllers() []Controller { return []Controller{Service, Route, NodeLifecycle} }

// enabled reports whether --controllers lets a manager start the controller.
func (c Controller) enabled(list []args.Arg) bool {
	choice, set := args.Last(list, leadermigration.ControllersFlag)
	return !set || leadermigration.Starts(choice.Value, string(c))
}

// configuration is a LeaderMigrationConfiguration, as far as it decides who runs
// what.
type configuration struct {
	LeaderName string `json:"leaderName"`
	Leaders    []struct {
		Name      string `json:"name"`
		Component string `json:"component"`
	} `json:"controllerLeaders"`
}

// configuration reads the one of a manager; nil where it has none, or where it cannot be read, and why. It sets the lease that it names.
func (p *Process) configuration() (*configuration, string) {
	switch {
	case !p.Flag || p.value(leadermigration.ConfigFlag, "") == "":
		return nil, ""
	case p.ConfigDenied:
		return nil, "the LeaderMigrationConfiguration of " + p.Component + " cannot be read: get configmaps in " + p.Space() + " is not allowed"
	case p.Config == nil:
		return nil, p.Component + " has its LeaderMigrationConfiguration in a file on its node"
	}
	conf := &configuration{}
	if err := yaml.Unmarshal([]byte(*p.Config), conf); err != nil {
		return nil, "the LeaderMigrationConfiguration of " + p.Component + " is no YAML"
	}
	p.Migration = cmp.Or(conf.LeaderName, p.Migration)
	return conf, ""
}

// byDefault is what a manager does with the flag alone. From 1.28 on the default
// lists service-controller and route-controller, which the cloud-controller-manager does
// not register.
func (p *Process) byDefault(c Controller, version string) (Mode, string) {
	switch {
	case p.Component != observed.CloudManager, version != "" && !leadermigration.Renamed(version), version != "" && c == NodeLifecycle:
		return UnderMigration, ""
	case version == "":
		return Never, "the tag of " + p.Component + "'s image does not show its version, which determines its default configuration"
	}
	return UnderMain, ""
}

// mode looks a controller up as the manager does: by the name that it registers;
// the last entry of a name counts. Where the version is not known either name
// does.
func (conf configuration) mode(c Controller, component, version string) Mode {
	mode := UnderMain
	for _, l := range conf.Leaders {
		switch {
		case !leadermigration.Registers(version, string(c), l.Name):
			continue
		case l.Component == component || l.Component == "*":
			mode = UnderMigration
		default:
			mode = Never
		}
	}
	return mode
}

// Given are the arguments of a manager that runs outside of pods, as RKE1's
// kube-controller-manager does, by what configures its machines.
type Given struct {
	From string // where they are written, for people
	Args []string
}

func (g Given) same(o Given) bool { return slices.Equal(g.Args, o.Args) }

// Versions are the arguments that machines may have while a change of them rolls out
// machine by machine, the oldest first.
type Versions []Given

// Written takes what a file says now. Until it changes again machines may have what it
// said before.
func (v Versions) Written(now Given) Versions {
	if len(v) == 0 {
		return Versions{now}
	}
	before := v[len(v)-1]
	if before.same(now) {
		return v
	}
	before.From = now.From + " before its last change"
	return Versions{before, now}
}

// Served takes from an object what shows how far a change has come. applied is
// what all machines had at one time, and open what some may have since. A version
// that is neither any more counts until there is nothing open.
func (v Versions) Served(applied Given, open ...Given) Versions {
	open = slices.DeleteFunc(open, applied.same)
	if len(open) == 0 {
		return Versions{applied}
	}
	for _, g := range append([]Given{applied}, open...) {
		if !slices.ContainsFunc(v, g.same) {
			v = append(v, g)
		}
	}
	return v
}

// processesOf reads managers that are pods and, where there are none of it, the
// kube-controller-manager whose arguments are given. Whether that one runs shows in
// its leases alone.
func processesOf(managers []observed.Manager, given []Given) []Process {
	list := Processes(managers)
	if slices.ContainsFunc(list, func(p Process) bool { return p.Component == observed.KubeManager }) {
		return list
	}
	for _, g := range given {
		p := ReadProcess(observed.Manager{Component: observed.KubeManager, Args: g.Args, Running: true})
		p.From = g.From
		if !p.Elects {
			p.Unreadable = p.Component + " elects no leader with " + g.From + ", and whether it runs is unknown"
		}
		list = append(list, p)
	}
	return list
}
