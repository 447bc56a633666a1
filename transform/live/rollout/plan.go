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
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher/wrangler/v3/pkg/name"
	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/transform/redact"
)

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
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return otherwise
	}
	return n
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
