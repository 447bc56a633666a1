// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/deploy"
	"github.com/rke-lm/rke-lm/lab/rancher"
)

// managed is a cluster of a Rancher that rke-lm itself migrates.
type managed struct {
	runner
	rancher    *rancher.Server
	downstream *rancher.Downstream
}

// runner runs rke-lm on a cluster of a Rancher, of either kind.
type runner struct {
	*scenario
	front    front
	title    string // by which the cluster is found without looking through a list
	token    string
	auditLog string
	choice   []string // flags of every run
	path     string   // in which runs find helm; "" for one that has it
	logs     *os.File // of all runs
}

// front is what a Rancher shows to those who ask it.
type front interface {
	URL() string
	CA() string
	Token() string
	Charts() string
	Helm() *deploy.Helm
}

// running returns what runs rke-lm on a cluster, with its files in a folder.
func running(s *scenario, of front, title, dir string) runner {
	s.Helper()
	r := runner{scenario: s, front: of, title: title, token: of.Token(), auditLog: filepath.Join(dir, "audit.jsonl"), choice: external}
	var err error
	if r.logs, err = os.Create(filepath.Join(dir, "rke-lm.log")); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { r.logs.Close() })
	return r
}

// external is the choice of the end state of clusters whose machines have the names of their instances, as only a person
// knows: those of a node driver have names of their own.
var external = []string{"--end-state", "external", "--accept", "node-rename"}

// relaxed are timings of elections that a busy machine keeps: some Ranchers run at a time.
var relaxed = cluster.Timing{Lease: 6 * time.Second, Renew: 4 * time.Second, Retry: 500 * time.Millisecond}

// manage starts a Rancher with one cluster, which is in-tree and settled.
func manage(t *testing.T, add func(*rancher.Server) (*rancher.Downstream, error)) *managed {
	t.Helper()
	return manageOn(t, rancher.Start, add)
}

// manageOn does the same on a Rancher that starts in another way.
func manageOn(t *testing.T, start func(context.Context, string, cluster.Timing) (*rancher.Server, error), add func(*rancher.Server) (*rancher.Downstream, error)) *managed {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real control planes")
	}
	timing := relaxed
	if soaks() {
		timing = cluster.Defaults
	}
	dir := folder(t)
	server := assert.Value(start(t.Context(), dir, timing))(t)
	t.Cleanup(server.Stop)
	explain(t, server.LogTail)
	began := time.Now()
	d := assert.Value(add(server))(t)
	s := &scenario{T: t, cluster: d.Cluster, began: began, machines: len(d.Machines)}
	s.record()
	return &managed{runner: running(s, server, titleOf(d), dir), rancher: server, downstream: d}
}

// run is one run of rke-lm.
type run struct {
	cmd     *exec.Cmd
	events  io.Reader
	heard   func(report.RunEvent) // called with every event, in their order
	report  report.Migration      // of many clusters, at the end
	printed bytes.Buffer
	fault   bytes.Buffer // what it says when it fails
	ended   chan struct{}
	code    int
}

// start runs rke-lm with a verb that changes the cluster, without asking. heard is called with what it
// says, and may be nil.
func (c *runner) start(heard func(*run, report.RunEvent), verb string, more ...string) *run {
	c.Helper()
	return c.startOver(heard, verb, append([]string{"--cluster", c.title}, more...)...)
}

// startOver does the same over clusters that the flags name.
func (c *runner) startOver(heard func(*run, report.RunEvent), verb string, more ...string) *run {
	c.Helper()
	program, err := tool()
	if err != nil {
		c.Fatal(err)
	}
	args := slices.Concat([]string{
		verb, "--yes", "-o", "json", "--rancher-url", c.front.URL(), "--cacert", c.front.CA(),
		"--chart-repo", c.front.Charts(), "--audit-log", c.auditLog, "--timeout", "5m",
	}, c.choice, more)
	r := &run{cmd: exec.Command(program, args...), ended: make(chan struct{})}
	r.heard = func(e report.RunEvent) {
		if heard != nil {
			heard(r, e)
		}
	}
	helm := c.front.Helm()
	path := cmp.Or(c.path, filepath.Dir(helm.Path)+":"+os.Getenv("PATH"))
	r.cmd.Env = append(helm.Environment(), "RANCHER_TOKEN="+c.token, "PATH="+path)
	r.cmd.Stderr = &r.fault
	if r.events, err = r.cmd.StdoutPipe(); err != nil {
		c.Fatal(err)
	}
	assert.NilError(c, r.cmd.Start())
	go r.follow()
	return r
}

// titleOf is by which a cluster is found without looking through a list.
func titleOf(d *rancher.Downstream) string {
	if engine(d) {
		return d.ID
	}
	return rancher.Namespace + "/" + d.Name
}

// engine reports whether RKE makes the cluster.
func (c *managed) engine() bool { return engine(c.downstream) }

func engine(d *rancher.Downstream) bool { return !strings.HasPrefix(d.ID, "c-m-") }

// follow hears a run to its end.
func (r *run) follow() {
	defer close(r.ended)
	lines := bufio.NewScanner(r.events)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e report.RunEvent
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(&r.printed, lines.Text())
			continue
		}
		if e.Kind != "RunEvent" {
			if err := json.Unmarshal(lines.Bytes(), &r.report); err != nil {
				fmt.Fprintln(&r.printed, err)
			}
			continue
		}
		fmt.Fprintln(&r.printed, e.Type, e.Stage, e.Message)
		r.heard(e)
	}
	err := r.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.code = exit.ExitCode()
	} else if err != nil {
		fmt.Fprintln(&r.printed, err)
		r.code = -2
	}
}

// killed is the exit code of what was killed.
const killed = -1

// kill ends a run as nothing else does. It may have ended already.
func (r *run) kill() { _ = r.cmd.Process.Kill() }

// endless is when a run is given up that should have given up long before.
const endless = 20 * time.Minute

// result waits for the end of a run, which has to come with one of the given exit codes. It returns that
// code and what the run said.
func (c *runner) result(r *run, codes ...int) (int, string) {
	c.Helper()
	select {
	case <-r.ended:
	case <-time.After(endless):
		r.kill()
		<-r.ended
		c.Errorf("%s did not end", r.cmd.Args[1])
	}
	text := r.printed.String() + r.fault.String()
	fmt.Fprintf(c.logs, "%s\n%s\nexit code %d\n\n", strings.Join(r.cmd.Args, " "), text, r.code)
	if !slices.Contains(codes, r.code) {
		c.Fatalf("%s ended with exit code %d, want %v\n%s\n%s", r.cmd.Args[1], r.code, codes, text, c.timelineText())
	}
	return r.code, text
}

// rke runs rke-lm to its end, and returns what it said.
func (c *runner) rke(verb string, more ...string) string {
	c.Helper()
	_, text := c.result(c.start(nil, verb, more...), 0)
	return text
}
