// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/cluster"
)

// printed is what a machine prints whose plan fails; the password may be shown nowhere.
const printed = "pulling rke2-runtime, registry password: Sommer-im-Hafen-2021\nno space left on device"

// A plan that fails once is waited for, and shown. One that fails forever ends the run at its time limit,
// and the same command continues once the machine works again.
func TestARunOverAClusterOfARancherWaitsForPlansThatFail(t *testing.T) {
	t.Parallel()
	c := rke2Cluster(t)
	machine, stop := c.downstream.Machines[0].Name, c.busy()
	c.downstream.FailPlans(machine, 1, printed)
	c.prints(c.rke("migrate", "--until", "enable-leader-migration"), "machine "+machine+": 1 attempt of its plan failed", "install: no space left on device")

	c.downstream.FailPlans(machine, -1, printed)
	_, message := c.result(c.start(nil, "migrate", "--timeout", "1m"), 3)
	c.prints(message, "stopped at install-ccm: not complete within 1m0s (--timeout): machine "+machine+": ", "attempts of its plan failed, and its rancher-system-agent retries")

	c.downstream.FailPlans(machine, 0, "")
	c.rke("migrate")
	stop()
	c.served()
	c.writers(cluster.KCM, cluster.CCM)
	c.neverTwo()
	c.audited()
	c.end("plans-that-fail")
}

// prints requires that a run said all of this, and no secret.
func (s *scenario) prints(message string, parts ...string) {
	s.Helper()
	for _, part := range parts {
		assert.Contains(s, message, part, "the run does not say")
	}
	if strings.Contains(message, "Sommer") {
		s.Error("the run shows a secret")
	}
}
