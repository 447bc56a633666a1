// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1/plan"
)

// cooldown is how long an agent waits after a try that failed, longer than a run looks away; the real one
// waits for 30 seconds (rancher/system-agent pkg/k8splan).
const cooldown = 10 * time.Second

// PlanSecret is the data of the Secret in which a machine finds its plan and says what came of it, as
// Rancher's system-agent does.
type PlanSecret map[string][]byte

// Due returns the plan, if the agent is to try it now: it is not applied, has not failed as often as it may, and
// has not failed just now.
func (s PlanSecret) Due() (p plan.NodePlan, due bool, err error) {
	if len(s["plan"]) == 0 || s.applied() || s.rests() {
		return p, false, nil
	}
	return p, true, json.Unmarshal(s["plan"], &p)
}

// applied reports whether the agent has nothing more to say of the plan: Rancher removes the probes' results of
// another one.
func (s PlanSecret) applied() bool {
	return string(s["applied-checksum"]) == s.sum() && len(s["probe-statuses"]) > 0
}

// rests reports whether the agent leaves a plan that failed alone, for a while or for good.
func (s PlanSecret) rests() bool {
	failures := s.Count("failure-count", 0)
	if failures == 0 || string(s["failed-checksum"]) != s.sum() {
		return false
	}
	if most := s.Count("max-failures", -1); most != -1 && failures >= most {
		return true
	}
	last, err := time.Parse(time.UnixDate, string(s["last-apply-time"]))
	return err == nil && time.Since(last) < cooldown
}

// Failed says that a try failed, and what its instruction install printed.
func (s PlanSecret) Failed(printed string) error {
	output, err := zipped(map[string][]byte{"install": []byte(printed)})
	if err != nil {
		return err
	}
	s.tried()
	s["failed-checksum"], s["failed-output"], s["success-count"] = []byte(s.sum()), output, []byte("0")
	s["failure-count"] = []byte(strconv.Itoa(s.Count("failure-count", 0) + 1)) // that of another plan continues
	return nil
}

// Succeeded says that the plan is applied and that probes pass.
func (s PlanSecret) Succeeded(probes ...string) error {
	output, err := zipped(map[string][]byte{})
	if err != nil {
		return err
	}
	passed := map[string]plan.ProbeStatus{}
	for _, name := range probes {
		passed[name] = plan.ProbeStatus{Healthy: true, SuccessCount: 1}
	}
	if s["probe-statuses"], err = json.Marshal(passed); err != nil {
		return err
	}
	s.tried()
	s["applied-checksum"], s["applied-output"] = []byte(s.sum()), output
	s["failed-checksum"], s["failed-output"], s["failure-count"] = nil, nil, []byte("0")
	s["success-count"] = []byte(strconv.Itoa(s.Count("success-count", 0) + 1))
	return nil
}

func (s PlanSecret) tried() { s["last-apply-time"] = []byte(time.Now().Format(time.UnixDate)) }

func (s PlanSecret) sum() string {
	sum := sha256.Sum256(s["plan"])
	return hex.EncodeToString(sum[:])
}

// Count reads a number of the Secret.
func (s PlanSecret) Count(key string, otherwise int) int {
	n, err := strconv.Atoi(string(s[key]))
	if err != nil {
		return otherwise
	}
	return n
}

// zipped are outputs as the agent keeps them.
func zipped(outputs map[string][]byte) ([]byte, error) {
	text, err := json.Marshal(outputs)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}
