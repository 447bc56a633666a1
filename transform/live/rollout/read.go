// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/rancher/wrangler/v3/pkg/name"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// ReadControlPlane reads the JSON of an RKEControlPlane.
func ReadControlPlane(raw []byte) (*ControlPlane, error) {
	c := &ControlPlane{}
	return c, decode(raw, "RKEControlPlane", c)
}

// ReadMachine reads the JSON of a Machine of Cluster API; its plan is in a Secret
// of its own.
func ReadMachine(raw []byte) (Machine, error) {
	var o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			Bootstrap struct {
				Config corev1.ObjectReference `json:"configRef"`
			} `json:"bootstrap"`
			ProviderID     string                 `json:"providerID"`
			Infrastructure corev1.ObjectReference `json:"infrastructureRef"`
		} `json:"spec"`
		Status struct {
			Node       corev1.ObjectReference `json:"nodeRef"`
			Conditions Conditions             `json:"conditions"`
			Addresses  []corev1.NodeAddress   `json:"addresses"`
		} `json:"status"`
	}
	err := decode(raw, "Machine", &o)
	m := Machine{
		Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Labels: o.Metadata.Labels, Node: o.Status.Node.Name, Deleting: o.Metadata.DeletionTimestamp != nil,
		ProviderID: o.Spec.ProviderID, Infrastructure: o.Spec.Infrastructure,
	}
	healthy := o.Status.Conditions["NodeHealthy"] // cluster-api internal/controllers/machine/machine_controller_noderef.go
	m.Unlinked = m.Node == "" || healthy.Status == "False" && (healthy.Reason == "NodeNotFound" || healthy.Reason == "NodeDeleted")
	internal, _ := lists.Find(o.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
	m.Address = internal.Address
	if c := o.Spec.Bootstrap.Config; c.Kind == "RKEBootstrap" && c.Name != "" {
		m.PlanSecret = planSecret(c.Name)
	}
	return m, err
}

// ReadEngine reads the JSON of a cluster of management.cattle.io.
func ReadEngine(raw []byte) (*Engine, error) {
	type spec struct {
		Config map[string]any `json:"rancherKubernetesEngineConfig"`
	}
	var o struct {
		Spec   spec `json:"spec"`
		Status struct {
			Applied    spec       `json:"appliedSpec"`
			Failed     spec       `json:"failedSpec"`
			Conditions Conditions `json:"conditions"`
		} `json:"status"`
	}
	err := decode(raw, "Cluster", &o)
	return &Engine{Spec: o.Spec.Config, Applied: o.Status.Applied.Config, Failed: o.Status.Failed.Config, Conditions: o.Status.Conditions}, err
}

// decode says nothing of what an object holds: it may be a secret.
func decode(raw []byte, kind string, into any) error {
	if json.Unmarshal(raw, into) != nil {
		return fmt.Errorf("the %s has fields of unexpected types", kind)
	}
	return nil
}

// Objects are Rancher's objects of one cluster, as they were read at one time. Either ControlPlane and
// Machines are filled, for RKE2, or Engine, for RKE.
type Objects struct {
	// ControlPlane is the RKEControlPlane; nil where there is none yet.
	ControlPlane *ControlPlane
	Machines     []Machine // by name
	// Engine is the cluster of management.cattle.io, for RKE.
	Engine *Engine
}

// Condition is one of an object's status, as Rancher declares it. Its message is for people and may
// quote anything: it is shown redacted.
type Condition = genericcondition.GenericCondition

// Conditions are those of an object by their types; an object has them as a list.
type Conditions map[string]Condition

// UnmarshalJSON reads the list.
func (c *Conditions) UnmarshalJSON(text []byte) error {
	var list []Condition
	err := json.Unmarshal(text, &list)
	*c = Conditions{}
	for _, one := range list {
		(*c)[one.Type] = one
	}
	return err
}

// ControlPlane is as much of an RKEControlPlane as shows what Rancher made of the
// last change. Spec and Applied are decoded JSON, which may hold secrets.
type ControlPlane struct {
	metav1.ObjectMeta  `json:"metadata"`
	Spec               map[string]any `json:"spec"`
	ControlPlaneStatus `json:"status"`
}

// ControlPlaneStatus is that of an RKEControlPlane.
type ControlPlaneStatus struct {
	Observed   int64          `json:"observedGeneration"`
	Applied    map[string]any `json:"appliedSpec"`
	Conditions Conditions     `json:"conditions"`
	// Snapshot and SnapshotPhase are what became of the last snapshot of etcd that was requested.
	Snapshot      struct{ Generation int64 } `json:"etcdSnapshotCreate"`
	SnapshotPhase string                     `json:"etcdSnapshotCreatePhase"`
}

// Machine is a Machine of Cluster API with its plan.
type Machine struct {
	Namespace, Name string

	Labels   map[string]string
	Node     string // the name of its Node; "" before Cluster API has found it
	Deleting bool
	// PlanSecret is the name of the Secret that holds its plan, in its namespace; ""
	// where Rancher does not bootstrap it.
	PlanSecret string
	Plan       *Plan // nil where no Secret holds one

	// ProviderID is the one by which Cluster API finds the Node, and Infrastructure the object
	// that it comes from. Unlinked says that no Node with that ID was found.
	ProviderID     string
	Infrastructure corev1.ObjectReference // in the namespace of the machine
	Unlinked       bool
	Address        string // the InternalIP of its Node, as Cluster API saw it last
}

// Plan is the plan that Rancher gave a machine.
type Plan struct {
	Applied bool // the machine says that it runs exactly this plan
	Init    bool // Rancher gives this machine its plan before all others
	// Failures counts the tries of this plan that failed, and GivenUp says that the
	// machine's agent makes no further one.
	Failures int
	GivenUp  bool
	// Output is the end of what the last failed try printed, redacted; "" where the
	// agent saved none of it.
	Output string
	// Unhealthy names the probes that fail.
	Unhealthy []string
	// Config is the rendered configuration of the machine (50-rancher.yaml); nil
	// where the plan holds none. It may hold secrets.
	Config map[string]any
}

// Engine is as much of a cluster of management.cattle.io as shows what RKE made of
// the last change. Spec, Applied and Failed are configurations of RKE as decoded
// JSON, nil where there is none; they may hold secrets.
type Engine struct {
	Spec, Applied, Failed map[string]any
	Conditions            Conditions
}

// PlanType is the type of the Secrets that hold the plans of machines, and
// machineLabel their label that names the machine; that of the init node has InitLabel
// (rancher pkg/capr/common.go).
const (
	PlanType     = "rke.cattle.io/machine-plan"
	machineLabel = "rke.cattle.io/machine-name"
	InitLabel    = "rke.cattle.io/init-node"
)

// PlanOf returns the plan of a machine in the Secret that has the name of one; nil
// where Rancher has given none yet, or the Secret is of something else.
func PlanOf(machine string, s *corev1.Secret) *Plan {
	if s == nil || s.Type != PlanType || s.Labels[machineLabel] != machine {
		return nil
	}
	p := ReadPlan(s.Data)
	if p != nil {
		p.Init = s.Labels[InitLabel] == "true"
	}
	return p
}

// planSecret returns the name of the Secret that holds the plan of a machine, from
// the name of its RKEBootstrap (rancher pkg/capr, PlanSecretFromBootstrapName). A
// long one is cut, and ends in a hash.
func planSecret(bootstrap string) string { return name.SafeConcatName(bootstrap, "machine", "plan") }

// configFile ends the path of the file with a machine's configuration.
const configFile = "50-rancher.yaml"

// ReadPlan reads the data of a Secret that holds a machine's plan; nil where no
// plan was given yet. The keys are those of rancher pkg/capr/planner/store.go and
// system-agent pkg/k8splan/watcher.go.
func ReadPlan(data map[string][]byte) *Plan {
	text := data["plan"]
	if len(text) == 0 {
		return nil
	}
	p := &Plan{Applied: bytes.Equal(text, data["appliedPlan"]), Config: configIn(text), Unhealthy: unhealthy(data["probe-statuses"])}
	if sum := sha256.Sum256(text); string(data["failed-checksum"]) == hex.EncodeToString(sum[:]) {
		p.Failures = number(data["failure-count"], 0)
		p.Output = outputIn(data["failed-output"])
		// The agent counts to max-failures. Rancher counts to failure-threshold, at which it
		// calls the plan failed while the agent tries on.
		most := number(data["max-failures"], noLimit)
		p.GivenUp = p.Failures > 0 && most != noLimit && p.Failures >= most
	}
	return p
}

// noLimit is the max-failures with which the agent tries forever, as it does where
// there is none.
const noLimit = -1

func number(text []byte, otherwise int) int {
	if n, err := strconv.Atoi(string(text)); err == nil {
		return n
	}
	return otherwise
}

// configIn returns the configuration that a plan puts on its machine. Rancher
// writes the file as JSON.
func configIn(text []byte) map[string]any {
	var plan struct {
		Files []struct {
			Path    string `json:"path"`
			Content string `json:"content"`
		} `json:"files"`
	}
	if json.Unmarshal(text, &plan) != nil {
		return nil
	}
	for _, f := range plan.Files {
		if !strings.HasSuffix(f.Path, "/"+configFile) {
			continue
		}
		var config map[string]any
		content, err := base64.StdEncoding.DecodeString(f.Content)
		if err != nil || json.Unmarshal(content, &config) != nil {
			return nil
		}
		return config
	}
	return nil
}

func unhealthy(text []byte) []string {
	type probe struct{ Healthy bool }
	var probes map[string]probe
	if json.Unmarshal(text, &probes) != nil {
		return nil
	}
	maps.DeleteFunc(probes, func(_ string, p probe) bool { return p.Healthy })
	return slices.Sorted(maps.Keys(probes))
}

// How much of an output is read, and how much of its end is kept.
const (
	mostOutput = 1 << 20 // bytes
	keptLines  = 10
	keptRunes  = 2000
)

// outputIn returns the end of what the instructions of a plan printed: the agent
// keeps a gzipped JSON object of base64 by the names of the instructions, of those
// alone whose output it was set to save. It is redacted before it is cut: half a
// secret does not look like one.
func outputIn(data []byte) string {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(z, mostOutput))
	var printed map[string][]byte
	if err != nil || json.Unmarshal(text, &printed) != nil {
		return ""
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(printed)) {
		for line := range strings.Lines(redact.Text(string(printed[name]))) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, name+": "+line)
			}
		}
	}
	end := []rune(strings.Join(lines[max(0, len(lines)-keptLines):], "\n"))
	return string(end[max(0, len(end)-keptRunes):])
}

// printed adds an output to a sentence.
func printed(output string) string {
	if output == "" {
		return ""
	}
	return "; it printed:\n    " + strings.ReplaceAll(output, "\n", "\n    ")
}

// Failure reports that tries of a machine's plan failed, and what the last one printed;
// "" where none did.
func (p MachineProgress) Failure() string {
	if p.Failures == 0 {
		return ""
	}
	return "machine " + p.Name + ": " + counted(p.Failures) + " of its plan failed; " + journal + printed(p.Output)
}
