// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

// runbook is that of a plan, with the names of files that a plan folder has.
func runbook(t *testing.T, target transform.Target, change func(*Runbook)) string {
	t.Helper()
	r := Runbook{Plan: planned(t, target), Folder: "plans/wharf", Files: []string{"clusters/wharf.yaml"}, Start: []string{"00-start.yaml"}}
	was := r.Start[0]
	for i, s := range r.Plan.Steps {
		at := StageFiles{Number: fmt.Sprintf("%02d", i+1)}
		if s.Changes() {
			at.Diff = at.Number + ".diff"
			at.Documents = []DocumentFiles{{Revision: s.Documents[0], Name: at.Number + ".yaml", Was: was, In: "clusters/wharf.yaml:1"}}
			was = at.Number + ".yaml"
		}
		r.Stages = append(r.Stages, at)
	}
	change(&r)
	return written(func(b *bytes.Buffer) { r.Write(b) })
}

func TestARunbookOfAFileSaysHowEachStageIsDoneAndUndone(t *testing.T) {
	contains(t, runbook(t, transform.Target{EndState: transform.EndStateExternal}, func(*Runbook) {}),
		"# Runbook: rke2 fleet-default/wharf\n", "planned from `clusters/wharf.yaml:1`", "| 01 | grant-migration-lease | to do |", "(`00-start.yaml`)",
		"## 01 grant-migration-lease\n\n**Why.** ", "**What changes.** `01.diff` has the diff; `01.yaml` is the document afterwards", "- line ",
		"**Do.**\n\n- [ ] apply the edit:\n\n```sh\nrke-lm apply --plan plans/wharf --stage grant-migration-lease clusters/wharf.yaml\n```", "Manually: put `01.yaml` in the place of the document.",
		"**Undo.** Undo later stages first.", "rke-lm apply --plan plans/wharf --undo grant-migration-lease clusters/wharf.yaml", "Manually: put `00-start.yaml` in the place of the document. Then apply the file as before.",
		"## 02 enable-leader-migration", "Manually: put `01.yaml` in the place of the document.",
		"**Prepare in AWS, if missing.**", "## 04 cordon-control-plane", "Nothing in the document.", "## 08 verify-provider-ids", "**Do.**\n\n- [ ] ", "kubectl --context=\"${CONTEXT:?}\" get nodes")
}

func TestARunbookOfAPrintedObjectPatchesIt(t *testing.T) {
	contains(t, runbook(t, transform.Target{}, func(r *Runbook) {
		r.Stages[0].Documents[0].Patch, r.Stages[0].Documents[0].UndoPatch = "01.patch.json", "01.undo.json"
	}),
		"Do not use kubectl replace or kubectl apply", "plans/wharf/01.patch.json", "The patch first tests the values that it changes", "Then patch the object:", "plans/wharf/01.undo.json")
	contains(t, runbook(t, transform.Target{}, func(r *Runbook) { r.Stages[0].Documents[0].NoPatch = "it has no uid" }),
		"There is no patch for kubectl: it has no uid.")
}

func TestARunbookOfALiveClusterNamesItInEveryCommand(t *testing.T) {
	text := runbook(t, renaming, func(r *Runbook) { r.Live, r.Server = "fleet-default/wharf", []string{"--context=rancher"} })
	contains(t, text, "planned from its object on Rancher", "rke-lm apply --plan plans/wharf --stage grant-migration-lease --cluster fleet-default/wharf --context=rancher", "--undo grant-migration-lease --cluster fleet-default/wharf --context=rancher", "rke-lm verify --stage install-ccm --wait 60m --cluster fleet-default/wharf --context=rancher", "**These errors block the stage.**")
	assert.True(t, !strings.Contains(text, "Manually: "), "it names a file")
}

func TestARunbookOfAStreamReadsAndWritesStreams(t *testing.T) {
	contains(t, runbook(t, transform.Target{}, func(r *Runbook) { r.Files = []string{"-"} }), "--stage grant-migration-lease - < cluster.yaml > changed.yaml")
}
