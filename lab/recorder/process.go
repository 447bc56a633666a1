// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/semver"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
)

// The migrated controllers.
const (
	Service = "service"
	Route   = "route"
)

// Process is one process of a manager, as far as ownership depends on it.
type Process struct {
	Name           string // component@machine
	Component      cluster.Component
	Started, Ended time.Time // the second is zero while it runs
	Acquired       []cluster.Acquisition
	Holder         string // how it calls itself in leases; "" while that is not known

	loops     bool     // it runs cloud controllers
	elects    bool     // it takes part in elections
	migrating bool     // it takes part in leader migration
	listed    []string // names in its migration configuration
	names     map[string]string
}

// The names under which managers know a controller. They changed in the cloud-controller-manager of 1.28
// (k8s.io/cloud-provider/names), and its default configuration did not follow for these two.
var (
	oldNames = map[string]string{Service: "service", Route: "route"}
	newNames = map[string]string{Service: "service-lb-controller", Route: "node-route-controller"}
	oldList  = []string{"route", "service", "cloud-node-lifecycle"}
	newList  = []string{"route-controller", "service-controller", "cloud-node-lifecycle-controller"}
)

// Describe reads a manager's arguments as the manager does.
func Describe(m *cluster.Manager) (Process, error) {
	list := make([]args.Arg, 0, len(m.Args))
	for _, a := range m.Args {
		list = append(list, args.Parse(a))
	}
	p := Process{Name: m.Caller(), Component: m.Component, Started: m.Started, Acquired: m.Acquired(), Holder: m.Holder(), names: oldNames, listed: oldList}
	p.Ended, _ = m.EndedAt()
	if m.Component == cluster.CCM && semver.Compare(m.Minor, "v1.28") >= 0 {
		p.names, p.listed = newNames, newList
	}
	provider, _ := args.Last(list, "cloud-provider")
	p.loops = m.Component == cluster.CCM || provider.Value == "aws"
	elect, set := args.Last(list, "leader-elect")
	p.elects = !set || elect.True()
	flag, set := args.Last(list, "enable-leader-migration")
	p.migrating = set && flag.True()
	if m.Migration == nil {
		return p, nil
	}
	return p, p.read(m.Migration)
}

// read takes the list of controllers from a LeaderMigrationConfiguration.
func (p *Process) read(text []byte) error {
	var config struct {
		ControllerLeaders []struct{ Name, Component string } `json:"controllerLeaders"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return fmt.Errorf("recorder: %s: %w", p.Name, err)
	}
	p.listed = nil
	for _, l := range config.ControllerLeaders {
		p.listed = append(p.listed, l.Name)
	}
	return nil
}

// mayHave reports whether the process is one that locks a lease.
func (p Process) mayHave(lease string) bool {
	return p.elects && (lease == string(p.Component) || p.migrating && lease == leadermigration.Lease)
}

// lock returns the lease under which the process runs a controller; "" for none.
func (p Process) lock(controller string) string {
	switch {
	case !p.elects:
		return ""
	case p.migrating && slices.Contains(p.listed, p.names[controller]):
		return leadermigration.Lease
	}
	return string(p.Component) // the main leases have the components' names
}
