// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/recorder"
)

// owning runs rke-lm leaders in parallel to the scenario. The function that it returns interrupts it, and tells what
// it said and the seconds by owners that were true meanwhile.
func (s *scenario) owning(flags ...string) func() (report.Ownership, [3]float64) {
	s.Helper()
	file := assert.Value(tool())(s)
	config := assert.Value(s.cluster.Kubeconfig(cluster.Admin))(s)
	ctx, cancel := context.WithCancel(context.Background())
	s.Cleanup(cancel)
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, file, append([]string{"leaders", "--kubeconfig", config, "-o", "json"}, flags...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{"HOME=" + s.cluster.Dir}, &out, &complaints
	began := time.Now()
	assert.NilError(s, cmd.Start())
	return func() (printed report.Ownership, truth [3]float64) {
		s.Helper()
		truth[0], truth[1], truth[2] = recorder.Seconds(s.timeline(recorder.Service, began))
		assert.NilError(s, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait() // its code says that it was interrupted
		if err := json.Unmarshal(out.Bytes(), &printed); err != nil {
			s.Fatalf("%v\n%s%s", err, out.String(), complaints.String())
		}
		s.Logf("owners said %v, true was %.1f, unknown:", printed.Seconds, truth)
		for _, i := range printed.Intervals {
			s.Logf("  %s to %s  %s %s", i.From, i.To, i.Count, i.Why)
		}
		return printed, truth
	}
}

// A leader is replaced in place, again and again: its pod stays, its container does not. The lease outlives
// it, and the hole begins when it ends.
func TestAReplacedLeaderOwnsNothingAlthoughItsLeaseLasts(t *testing.T) {
	if soaks() {
		t.Skip("has the default timings anyway")
	}
	s := beginWith(t, cluster.Defaults, "cp-1") // short leases would hide the difference
	s.kubelets(s.join())
	s.rollOut(s.wanted(planned(t, document(t, "rke2.yaml")).Start[0]))
	s.leads(cluster.KCM)
	s.eventually("an owner", func(context.Context) bool { return s.owner() == cluster.KCM })
	end := s.owning()
	const times = 2
	for range times {
		time.Sleep(3 * time.Second)
		s.kill(cluster.KCM)
		s.eventually("no owner", func(context.Context) bool { return s.owner() == "" })
		s.eventually("an owner again", func(context.Context) bool { return s.owner() == cluster.KCM })
	}
	time.Sleep(3 * time.Second)
	printed, truth := end()
	// Each hole is seen when the pods are next looked at, and its end when the lease is.
	if late := math.Abs(truth[0] - printed.Seconds["0"]); late > times*(2.5+s.slack().Seconds()) || truth[0] < times*10 {
		t.Errorf("%.1f s without an owner, and owners says %.1f", truth[0], printed.Seconds["0"])
	}
	if printed.Seconds["2"] > 0 {
		t.Errorf("owners says two for %.1f s", printed.Seconds["2"])
	}
	s.neverTwo()
	s.end("replaced-leader")
}
