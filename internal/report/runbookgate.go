// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// start writes what comes before the first stage: where the commands run, how a stage is
// done, and what a failed check means.
func (r Runbook) start(w io.Writer) {
	where := "Run the commands on the machine on which the plan was made: their paths are those of that machine."
	if r.Top != "" {
		where = "Run the commands in " + r.Top + ": their paths start there."
	}
	expect := "it must end with " + code("ok")
	if !r.Plan.Target.Situation.HasInTreeProvider() {
		expect = "errors of the cloud controllers are why it is migrated; correct the others"
	}
	fmt.Fprintf(w, `## Before the first stage

%s
The commands take their clusters from variables, and do not run without them: set %s to the context of %s in
your kubeconfig%s.

Do one stage at a time, from its first box to its last, and start the next one only after its gate has passed. A stage
that is done can be repeated: then nothing happens. The plan is valid for the document at this time: once another user
changes it, the commands fail, and you must plan again.

- [ ] save what must stay the same, and check the cluster; %s:

%s
Before the first stage %s.

**Stop** at a gate that does not end with %s and exit code 0, and do not start the next stage:

| Exit code | Meaning | What to do |
|---|---|---|
| 1 | the cluster does not have what the stage promises | do what the findings of the gate state, and run it again; if that does not help, follow **Undo** of the stage |
| 3 | the cluster could not be reached: its state is unknown | check the network and the API server, and run the gate again, before you undo anything |
| 2, 4 | wrong usage, or a missing permission: nothing was checked | correct it, and run the gate again |

A gate waits for at most %d minutes. To return to the start, undo the stages in reverse order. A stage without an undo states so.

`, where, code("CONTEXT"), r.name(), r.ofRancher(), expect, fenced("sh", r.verify("", "--snapshot")), inline(stages.LeaderAfter("", r.Plan.Target)), code("ok"), minutes)
}

// name is the cluster, as people call it.
func (r Runbook) name() string { return inline(r.Plan.Cluster.TitleIn(r.Plan.Start[0].File())) }

// ofRancher names the variable of Rancher's own cluster, if commands run there.
func (r Runbook) ofRancher() string {
	if !r.Plan.Delivery(r.Plan.Start[0], "").Rancher {
		return ""
	}
	return ", and " + code("RANCHER_KUBECONFIG") + " to a kubeconfig of Rancher's own cluster"
}

// minutes is for how long a gate waits.
const minutes = int(action.RolloutTime / time.Minute)

// verify is the command that checks what a stage promises; "" is for what always has to hold.
func (r Runbook) verify(stage string, flags ...string) string {
	words := stages.VerifyCommand(stage, r.Plan.Target, flags...)
	if r.Live != "" {
		return action.Words(slices.Concat(words, []string{"--cluster", r.Live}, r.Server)...)
	}
	return clusterOf(false).In(action.Words(words...))
}

// await is the same, for as long as a change may take.
func (r Runbook) await(stage string) string {
	return r.verify(stage, "--wait", fmt.Sprintf("%dm", minutes))
}

// duration writes how long a stage may take, as far as that is known.
func (r Runbook) duration(w io.Writer, s Stage) {
	text := s.effect()
	if s.Gap != "" {
		text += " No manager runs the cloud controllers for " + s.Gap + "."
	}
	if text != "" {
		fmt.Fprintf(w, "**How long.** %s\n\n", inline(strings.TrimSpace(text)))
	}
}

// gate writes the check that has to pass before the next stage, and what it prints.
func (r Runbook) gate(w io.Writer, s plan.Step) {
	stage, t := s.Stage.Name, r.Plan.Target
	fmt.Fprintf(w, "**Gate.** Afterwards %s. ", inline(stages.LeaderAfter(stage, t)))
	if !stages.Gated(stage, t) {
		fmt.Fprint(w, "`rke-lm verify` has no check for this state: use the commands above.\n\n")
		return
	}
	fmt.Fprintf(w, "Start it once the change has reached the cluster; it passes when it prints this and exits with 0:\n\n")
	step(w, fmt.Sprintf("wait for at most %d minutes", minutes), r.await(stage))
	by, prints := stages.After(stage, t).Lease, "nodes             N of N ok\n\nok"
	holder, other, _ := strings.Cut(by.String(), " or ")
	if by.Needed() {
		prints = "migration lease   " + holder + " (live)\n" + prints
	}
	fmt.Fprintln(w, fenced("text", prints))
	if by == stages.Either {
		fmt.Fprintf(w, "The lease can also be held by %s.\n\n", code(other))
	}
}

// returned writes the check after the undo of a stage: the state is that before it.
func (r Runbook) returned(w io.Writer, i int) {
	s := r.Plan.Steps[i]
	if s.Stage.Permanent || !s.Changes() {
		return
	}
	before := ""
	if i > 0 {
		before = r.Plan.Steps[i-1].Stage.Name
	}
	if before != "" && !stages.Gated(before, r.Plan.Target) || before == "" && !r.Plan.Target.Situation.HasInTreeProvider() {
		return
	}
	step(w, "wait until "+inline(stages.LeaderAfter(before, r.Plan.Target)), r.await(before))
}
