// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollout is about changes of live clusters: whether one may be made now, what permissions a verb needs
// for it, and how far it has come, from what Rancher shows of it.
//
// Invariant: what would be undone, would never arrive, or would come on top of a change that has not arrived,
// is not written unless it was accepted. A change is done when the configuration that was rendered for every
// machine proves it and every machine has applied it; conditions alone prove nothing, because those of a
// Cluster are copies and lag. There is one table of permissions: the checks before a run and the roles of the
// documentation are made from it.
package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Evaluate reports how far a change has come.
func Evaluate(seen Objects, wanted Wanted) Progress {
	if seen.Engine != nil {
		return seen.Engine.evaluate(wanted)
	}
	p := Progress{}
	for _, m := range seen.Machines {
		if m.Deleting {
			continue
		}
		one := m.tries()
		one.Waiting = m.waiting(wanted)
		one.Done = one.Waiting == ""
		p.Machines = append(p.Machines, one)
		p.Failed = cmp.Or(p.Failed, m.failed(wanted))
		if !one.Done && p.Waiting == "" {
			p.Waiting = "machine " + one.Name + ": " + one.Waiting
		}
	}
	if why := seen.ControlPlane.waiting(wanted, seen.Machines); why != "" && (p.Waiting == "" || !seen.ControlPlane.follows(wanted)) {
		p.Waiting = why
	}
	if p.Waiting == "" && len(p.Machines) == 0 {
		p.Waiting = "Rancher shows no machine of the cluster"
	}
	p.Done = p.Waiting == "" && p.Failed == ""
	return p
}

// follows reports whether Rancher has seen the change at all.
func (c *ControlPlane) follows(wanted Wanted) bool {
	return c != nil && c.carries(wanted) && c.Observed == c.Generation
}

// waiting returns what the control plane lacks, or "".
func (c *ControlPlane) waiting(wanted Wanted, machines []Machine) string {
	switch {
	case c == nil:
		return "Rancher has not created the RKEControlPlane yet"
	case !c.carries(wanted):
		return "Rancher has not copied the change into the RKEControlPlane yet"
	case c.Observed != c.Generation:
		return "Rancher has not observed the last change of the RKEControlPlane yet"
	case wanted.WithoutIDs && c.links(machines):
		return ""
	case !same(c.Spec, c.Applied):
		return "Rancher has not applied the whole change yet" + message(c.Conditions["Reconciled"])
	}
	return notTrue(c.Conditions, "Reconciled", "Ready")
}

// links reports whether Rancher waits for nothing but Nodes that it does not find: every
// machine has its plan then.
func (c *ControlPlane) links(machines []Machine) bool {
	ready := c.Conditions["Ready"]
	return ready.Status != "True" && strings.HasPrefix(ready.Message, "non-ready ") && slices.ContainsFunc(machines, func(m Machine) bool {
		return m.Unlinked && strings.Contains(ready.Message, m.Name)
	})
}

// configKeys are what the stages of a migration change of rkeConfig, and what else
// reaches machines from there.
var configKeys = []string{"machineGlobalConfig", "machineSelectorConfig", "machineSelectorFiles", "additionalManifest", "chartValues"}

// carries reports whether the control plane has the configuration of the object.
func (c *ControlPlane) carries(wanted Wanted) bool {
	spec := specOf(wanted.Object)
	return wanted.alike(migrated(spec), configuration(c.Spec["kubernetesVersion"], spec[psactKey], c.Spec))
}

// psactKey names the template for pod security admission, for which Rancher writes
// parts of the configuration itself.
const psactKey = "defaultPodSecurityAdmissionConfigurationTemplateName"

// configuration is a specification of nothing but what is compared.
func configuration(version, psact any, config map[string]any) map[string]any {
	return map[string]any{"kubernetesVersion": version, psactKey: psact, "rkeConfig": only(config, configKeys...)}
}

// only returns the entries of a configuration that have these keys.
func only(config map[string]any, keys ...string) map[string]any {
	kept := map[string]any{}
	for _, key := range keys {
		if v, there := config[key]; there {
			kept[key] = v
		}
	}
	return kept
}

// migrated is as much of a cluster's specification as a migration changes.
func migrated(spec map[string]any) map[string]any {
	if engine, is := spec[engineKey].(map[string]any); is {
		return map[string]any{engineKey: migratedEngine(engine)}
	}
	config, _ := spec["rkeConfig"].(map[string]any)
	return configuration(spec["kubernetesVersion"], spec[psactKey], config)
}

// Overtaken reports whether an object has another configuration than the one that
// was written: someone else has changed it since.
func Overtaken(now map[string]any, wanted Wanted) bool {
	return !wanted.alike(migrated(specOf(now)), migrated(specOf(wanted.Object)))
}

// specOf returns the specification of a cluster.
func specOf(object map[string]any) map[string]any {
	spec, _ := object["spec"].(map[string]any)
	return spec
}

// notTrue names the first condition that is not True, or "".
func notTrue(conditions Conditions, names ...string) string {
	for _, name := range names {
		if c := conditions[name]; c.Status != "True" {
			return fmt.Sprintf("the condition %s is not True%s", name, message(c))
		}
	}
	return ""
}

// message returns the message of a condition, after a colon.
func message(c Condition) string {
	if c.Message == "" {
		return ""
	}
	return ": " + redact.Text(c.Message)
}

// engineKey holds RKE's configuration.
const engineKey = "rancherKubernetesEngineConfig"

// evaluate uses the configuration that RKE applied last. It has more than the
// object, such as the machines, and the conditions of the change before are still
// True when a change is new.
func (e *Engine) evaluate(wanted Wanted) Progress {
	spec := migrated(specOf(wanted.Object))
	is := func(config map[string]any) bool {
		return wanted.alike(spec, map[string]any{engineKey: migratedEngine(config)})
	}
	var why string
	switch {
	case is(e.Applied):
		why = notTrue(e.Conditions, "Updated", "Provisioned", "Ready")
	case e.Failed != nil && is(e.Failed):
		why = "the last attempt of RKE failed, and Rancher retries" + message(e.Conditions["Updated"])
	default:
		why = "RKE has not applied the change yet" + message(e.Conditions["Updated"])
	}
	return Progress{Done: why == "", Waiting: why}
}

// migratedEngine is as much of RKE's configuration as a migration changes.
func migratedEngine(config map[string]any) map[string]any {
	kept := only(config, "kubernetesVersion", "cloudProvider", "addons")
	services, _ := config["services"].(map[string]any)
	named := map[string]any{}
	for _, name := range []string{"kubeController", "kubeApi", "kubelet"} {
		if s, is := services[name].(map[string]any); is {
			s = maps.Clone(s)
			delete(s, "extraEnv") // Rancher moves it into a Secret
			named[name] = s
		}
	}
	kept["services"] = named
	return kept
}

// tries reports how the tries of its plan went.
func (m Machine) tries() MachineProgress {
	p := MachineProgress{Name: m.Name, Node: m.Node}
	if m.Plan != nil && !m.Plan.Applied {
		p.Failures, p.Output = m.Plan.Failures, m.Plan.Output
	}
	return p
}

// Tries says of every machine how the tries of its plan went, whatever is in the plan.
func (s Objects) Tries() []MachineProgress { return lists.Map(s.Machines, Machine.tries) }

// waiting returns what the machine lacks, or "".
func (m Machine) waiting(wanted Wanted) string {
	if m.Plan == nil {
		return "Rancher has not given it a plan yet"
	}
	if missing := lacks(m.Plan.Config, wanted.Machine(m.Labels)); missing != "" {
		return "its plan does not have the change yet: " + missing
	}
	switch {
	case !m.Plan.Applied && m.Plan.Failures > 0:
		return counted(m.Plan.Failures) + " of its plan failed, and its rancher-system-agent retries; " + journal
	case !m.Plan.Applied:
		return "it has not applied its plan yet"
	case len(m.Plan.Unhealthy) > 0:
		return "these probes fail: " + strings.Join(m.Plan.Unhealthy, ", ")
	case m.Node == "" && !wanted.WithoutIDs:
		return "it has no Node yet"
	}
	return ""
}

// failed returns what does not pass by itself, or "".
func (m Machine) failed(wanted Wanted) string {
	before := wanted.Nodes[m.Name]
	switch {
	case before != "" && m.Node != "" && m.Node != before:
		return fmt.Sprintf("machine %s was the node %s and is now the node %s", m.Name, before, m.Node)
	case m.Plan != nil && m.Plan.GivenUp && !m.Plan.Applied && lacks(m.Plan.Config, wanted.Machine(m.Labels)) == "": // one without the change is replaced
		return fmt.Sprintf("machine %s stopped applying its plan after %s, and does not retry until Rancher changes the plan; %s", m.Name, counted(m.Plan.Failures), journal) + printed(m.Plan.Output)
	}
	return ""
}

// journal says where an agent says why a try failed: Rancher has it save no output of
// the instruction that installs RKE2.
const journal = "journalctl -u rancher-system-agent on the machine shows the cause"

func counted(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

// Wanted is what the last change promises.
type Wanted struct {
	// Object is the cluster's object as it was written, as decoded JSON.
	Object map[string]any
	// Machine is what a machine is given, by the machine's own labels.
	Machine transform.MachineConfig
	// Nodes are the names of the Nodes that machines had before the change, by the
	// names of the machines: they must not change.
	Nodes map[string]string
	// WithoutIDs means that Nodes may have no provider ID, as from 1.27 on where no one runs the
	// cloud controllers. Rancher and Cluster API find the Node of a machine by that ID alone, and
	// wait for it when all machines have their plans (rancher pkg/controllers/capr/machinenodelookup
	// and pkg/capr/planner, reconcile at v2.8.5).
	WithoutIDs bool
	// Alike says what is the same to Rancher; nil means equality.
	Alike func(a, b any) bool
}

// alike compares parts of two clusters' specifications.
func (w Wanted) alike(a, b map[string]any) bool {
	x, y := map[string]any{"spec": a}, map[string]any{"spec": b}
	if w.Alike == nil {
		return yamledit.Same(x, y)
	}
	return w.Alike(x, y)
}

// NewWanted returns what an object promises. raw is its JSON as the server has it,
// doc as much of it as people write.
func NewWanted(d transform.Format, doc *yamledit.Document, raw []byte, t transform.Target) (w Wanted, err error) {
	w.Alike = d.Alike
	if err := decode(raw, "Cluster", &w.Object); err != nil {
		return w, err
	}
	version, _ := specOf(w.Object)["kubernetesVersion"].(string)
	w.WithoutIDs = k8s.From(version, aws.FirstWithout)
	w.Machine, err = d.Live.MachineConfig(doc, t)
	return w, err
}

// Progress is how far a change has come.
type Progress struct {
	Done     bool
	Machines []MachineProgress // by name
	Waiting  string            // what is waited for; "" when done
	Failed   string            // what does not pass by itself; "" for nothing
}

// MachineProgress is how far one machine has come.
type MachineProgress struct {
	Name    string `json:"name"`
	Node    string `json:"node"`
	Done    bool   `json:"done"`
	Waiting string `json:"waiting,omitempty"` // what it lacks; "" when done
	// Failures counts the tries of its plan that failed, and Output is the end of what
	// the last one printed, redacted. Both are zero once the plan is applied.
	Failures int    `json:"failures,omitempty"`
	Output   string `json:"output,omitempty"`
}
