// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// Runbook is a plan that a person can follow alone.
type Runbook struct {
	Plan   *plan.Plan
	Top    string            // where the commands run, if their paths start there; "" for any folder
	Folder string            // that holds it, as a command names it
	Files  []string          // that hold the cluster, as a command names them; "-" for a stream
	Values string            // the values file of the chart, as a command names it; "" for none
	Paths  map[string]string // of the files of the documents, as commands name them, by their names in the plan
	Live   string            // the cluster's name on its Rancher, in place of a file
	Server []string          // the flags that name that Rancher
	Start  []string          // files in the folder with the documents as they are
	Stages []StageFiles      // one for each step of the plan
}

// StageFiles are the names of the files of one stage in the folder of the runbook.
type StageFiles struct {
	Number    string // as in the names of the files
	Diff      string // "" where the stage edits no document
	Documents []DocumentFiles
	Files     []string
}

// DocumentFiles are the names of the files of a document that a stage edits.
type DocumentFiles struct {
	plan.Revision
	Name string // after the stage
	Was  string // before it
	In   string // where the document is: its place in its file
	// Patch and UndoPatch are for an object that kubectl printed; "" for other
	// documents. NoPatch says why such an object has none.
	Patch, UndoPatch, NoPatch string
}

// Write writes the runbook as Markdown.
func (r Runbook) Write(w io.Writer) {
	p := NewPlan(r.Plan, "", false)
	fmt.Fprintf(w, "# Runbook: %s\n\n", inline(title(p)))
	if r.Live != "" {
		fmt.Fprintf(w, "Leader migration of a cluster (%s), planned from its object on Rancher. Without the fields that the server\nmanages, the object had the SHA-256 %s.\n\n", inline(release(p)), code(p.SHA256))
	} else {
		fmt.Fprintf(w, "Leader migration of a cluster (%s), planned from %s. Document %d of that file had the SHA-256\n%s.\n\n",
			inline(release(p)), code(place(p.Source)), p.Source.Document+1, code(p.SHA256))
		r.others(w, p)
	}
	r.start(w)
	fmt.Fprint(w, "| | stage | state |\n|---|---|---|\n")
	for i, s := range p.Stages {
		fmt.Fprintf(w, "| %s | %s | %s |\n", r.Stages[i].Number, s.Name, emphasised(s))
	}
	holds := "document"
	if len(r.Start) > 1 {
		holds = "documents, each"
	}
	fmt.Fprintf(w, "\nThe files in this folder contain the cluster's %s as it is (%s) and after each stage,\n"+
		"byte for byte, with secrets; the diffs have no secrets and are only for review.\n\n", holds, list(lists.Map(r.Start, code)))
	for i, s := range p.Stages {
		r.stage(w, i, s)
	}
}

// others lists the documents after the first.
func (r Runbook) others(w io.Writer, p Plan) {
	if len(p.Sources) == 0 {
		return
	}
	fmt.Fprint(w, "The cluster has more documents; each stage is planned over all of them:\n\n")
	for _, s := range p.Sources[1:] {
		fmt.Fprintf(w, "- document %d, %s, with the SHA-256 %s\n", s.Document+1, code(place(s.Source)), code(s.SHA256))
	}
	fmt.Fprintln(w)
}

func (r Runbook) stage(w io.Writer, i int, view Stage) {
	s, at := r.Plan.Steps[i], r.Stages[i]
	fmt.Fprintf(w, "## %s %s\n\n", at.Number, s.Stage.Name)
	if s.Past() {
		why := map[plan.State]string{plan.Done: "the document already has the result", plan.Skipped: "it was skipped, and after the switch it is of no use"}
		fmt.Fprintf(w, "- [x] Nothing to do: %s.\n\n", why[s.State])
		return
	}
	fmt.Fprintf(w, "**Why.** %s\n\n", inline(s.Stage.Why))
	r.changes(w, s, at)
	if s.State == plan.ActionOnly && len(s.Stage.Before)+len(s.Stage.After) == 0 {
		return
	}
	r.duration(w, view)
	r.commands(w, "Prepare in AWS, if missing", s.Stage.Prepare.Actions)
	r.commands(w, "Before", s.Stage.Before)
	after, undone := "Do", "Undo"
	if s.Changes() {
		after, undone = "After", "After the undo"
		r.apply(w, s, at)
	}
	r.commands(w, after, s.Stage.After)
	r.commands(w, "Check", s.Stage.Verify)
	r.gate(w, s)
	r.commands(w, "Before the undo", s.Stage.UndoBefore)
	if s.Changes() {
		r.undo(w, s, at)
	}
	r.commands(w, undone, s.Stage.UndoAfter)
	r.returned(w, i)
}

func (r Runbook) undo(w io.Writer, s plan.Step, at StageFiles) {
	if s.Stage.Permanent {
		fmt.Fprintf(w, "**Undo.** Not possible. %s\n\n", inline(s.Stage.Caution))
		return
	}
	fmt.Fprintf(w, "**Undo.** %s\n\n- [ ] undo the edit:\n\n%s\n", words("Undo later stages first. "+stages.UndoGap(r.Plan.Target, s.Stage.Name)+" "+inline(s.Stage.Caution)), fenced("sh", r.command("--undo", s.Stage.Name)))
	if r.Live != "" {
		return
	}
	for _, d := range at.Documents {
		then := "Then apply the file as before."
		switch {
		case d.UndoPatch != "":
			fmt.Fprintf(w, "Manually: put %s in the place of %s. Then patch the object:\n\n%s\n", code(d.Was), r.the(d), fenced("sh", r.patch(d, d.UndoPatch)))
			continue
		case s.Stage.Withdrawn:
			then = "Keep the file where it is, and do not apply it to the cluster."
		}
		fmt.Fprintf(w, "Manually: put %s in the place of %s. %s\n\n", code(d.Was), r.the(d), then)
	}
}

// the names a document: there may be several.
func (r Runbook) the(d DocumentFiles) string {
	if len(r.Start) > 1 {
		return "the document at " + code(d.In)
	}
	return "the document"
}

func (r Runbook) changes(w io.Writer, s plan.Step, at StageFiles) {
	if !s.Changes() {
		fmt.Fprint(w, "**What changes.** Nothing in the document.\n\n")
		for _, name := range at.Files {
			fmt.Fprintf(w, "The commands use %s, in the folder of this runbook.\n\n", code(name))
		}
		return
	}
	names := lists.Map(at.Documents, func(d DocumentFiles) string { return code(d.Name) })
	is := "is the document"
	if len(names) > 1 {
		is = "are the documents"
	}
	fmt.Fprintf(w, "**What changes.** %s has the diff; %s %s afterwards. The places are:\n\n", code(at.Diff), list(names), is)
	for _, e := range s.Edits {
		in := ""
		if e.File != "" {
			in = code(e.File) + " "
		}
		fmt.Fprintf(w, "- %sline %d, %s\n", in, e.Line, code(e.Path))
	}
	fmt.Fprintln(w)
	for _, name := range at.Files {
		fmt.Fprintf(w, "%s is for the stage, if you run it manually.\n\n", code(name))
	}
	io.WriteString(w, markdownFindings(s.Findings))
	if s.State == plan.Blocked {
		fmt.Fprint(w, "**These errors block the stage.** Correct them, and plan again; `rke-lm rules RULE` shows when a rule can be accepted.\n\n")
	}
}

func (r Runbook) apply(w io.Writer, s plan.Step, at StageFiles) {
	fmt.Fprintf(w, "**Do.**\n\n- [ ] apply the edit:\n\n%s\n", fenced("sh", r.command("--stage", s.Stage.Name)))
	if r.Live != "" {
		return
	}
	for _, d := range at.Documents {
		r.deliver(w, d)
	}
}

// deliver reports how a document is changed and brought to the cluster by hand.
func (r Runbook) deliver(w io.Writer, d DocumentFiles) {
	if d.Patch != "" {
		fmt.Fprintf(w, "Manually: put %s in the place of %s. Then patch the object, from which kubectl printed the\n"+
			"document. Do not use kubectl replace or kubectl apply: the document has the resourceVersion of that time, so the\n"+
			"server rejects it after the next change of the object.\n\n%s\n%s\n\n", code(d.Name), r.the(d), fenced("sh", r.patch(d, d.Patch)), refusal)
		return
	}
	if d.NoPatch != "" {
		fmt.Fprintf(w, "There is no patch for kubectl: %s. If the document has a resourceVersion, the server accepts it only until the\n"+
			"object changes: print the object again with kubectl get before each stage, and plan again.\n\n", inline(d.NoPatch))
	}
	by := r.Plan.Delivery(d.Before, r.Folder+"/"+d.Name)
	fmt.Fprintf(w, "Manually: put %s in the place of %s. Then apply the file to %s\n\n", code(d.Name), r.the(d), by.How)
	if by.Command != "" {
		fmt.Fprintln(w, fenced("sh", clusterOf(by.Rancher).In(by.Command)))
	}
}

// refusal says what it means that the server refuses a patch.
const refusal = `The patch first tests the values that it changes, and the object's UID. If the server rejects it as invalid
(422), one of them has changed: the stage is already done, or another user changed the object. Then nothing
was written: print the object again with kubectl get, and plan again. Do not remove the tests. The patch can
contain secrets. kubectl has --patch-file since 1.20.`

// patch returns the command line for a patch.
func (r Runbook) patch(d DocumentFiles, file string) string {
	return clusterOf(r.Plan.Delivery(d.Before, "").Rancher).In(r.Plan.PatchCommand(d.Before, r.Folder+"/"+file))
}

// command returns the command line for a stage.
func (r Runbook) command(flag, stage string) string {
	if r.Live != "" {
		return action.Words(append([]string{"rke-lm", "apply", "--plan", r.Folder, flag, stage, "--cluster", r.Live}, r.Server...)...)
	}
	line := action.Command("rke-lm apply --plan %s %s %s", r.Folder, flag, stage)
	if r.Values != "" {
		line += action.Command(" --ccm-values %s", action.Path(r.Values))
	}
	if slices.Contains(r.Files, "-") {
		return line + " - < cluster.yaml > changed.yaml"
	}
	for _, f := range r.Files {
		line += action.Command(" %s", action.Path(f))
	}
	return line
}

// commands writes the commands of actions, each with a box to check.
func (r Runbook) commands(w io.Writer, heading string, actions []action.Action) {
	for i, a := range actions {
		if i == 0 {
			fmt.Fprintf(w, "**%s.**\n\n", heading)
		}
		step(w, inline(a.Why), clusterOf(a.Op == action.Settle{}).In(r.placed(a.Command)))
	}
}

// placed returns a command with the paths of the files that it names: all commands run in one folder.
func (r Runbook) placed(command string) string {
	paths := map[string]string{}
	maps.Copy(paths, r.Paths)
	for _, s := range r.Stages { // an undo names the files of an earlier one
		for _, name := range s.Files {
			paths[name] = r.Folder + "/" + name
		}
	}
	var pairs []string
	for name, path := range paths {
		for _, before := range []string{" ", "=", "file://"} {
			for _, after := range []string{" ", "\n"} {
				pairs = append(pairs, before+action.Command("%s", action.Path(name))+after, before+action.Command("%s", action.Path(path))+after)
			}
		}
	}
	return strings.TrimSuffix(strings.NewReplacer(pairs...).Replace(command+"\n"), "\n")
}

// clusterOf is how commands name Rancher's own cluster, or the one that is migrated: by variables,
// as only the user knows what his kubeconfig calls them. No command runs without its variable.
func clusterOf(rancher bool) action.Cluster {
	if rancher {
		return action.Cluster{Kubeconfig: `"${RANCHER_KUBECONFIG:?}"`}
	}
	return action.Cluster{Context: `"${CONTEXT:?}"`}
}

// step writes a command with a box to check.
func step(w io.Writer, purpose, command string) {
	fmt.Fprintf(w, "- [ ] %s:\n\n%s\n", purpose, fenced("sh", command))
}

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
	cluster := inline(r.Plan.Cluster.TitleIn(r.Plan.Start[0].File()))
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

`, where, code("CONTEXT"), cluster, r.ofRancher(), expect, fenced("sh", r.verify("", "--snapshot")), inline(stages.LeaderAfter("", r.Plan.Target)), code("ok"), minutes)
}

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
