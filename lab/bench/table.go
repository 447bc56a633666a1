// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/rke-lm/rke-lm/lab/build"
)

// What is measured.
const (
	verifyName   = "rke-lm verify"
	getName      = "kubectl get nodes -o json | jq"
	describeName = "kubectl describe nodes | grep ProviderID"
)

// print writes the table, with what each costs in times of rke-lm, and what was aimed at.
func (b *bench) print(out io.Writer) {
	fmt.Fprintf(out, "%d nodes of %.1f kB on a kube-apiserver %s; kubectl %s, %s\n\n", b.nodes, float64(b.nodeSize)/1e3, b.server, build.Kubectl.Version, strings.TrimSpace(b.jq.name))
	w := tabwriter.NewWriter(out, 0, 4, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "time\t\tCPU\t\tmemory\t\tanswers\t\trequests\t\t")
	ours := b.rows[0]
	for _, r := range b.rows {
		if len(r.costs) == 0 {
			continue
		}
		times := func(theirs, own float64) string { return fmt.Sprintf("× %.3g", theirs/own) }
		fmt.Fprintf(w, "%.2f s\t%s\t%.2f s\t%s\t%.0f MB\t%s\t%.1f MB\t%s\t%d\t%s\t  %s\n",
			r.seconds(), times(r.seconds(), ours.seconds()), r.work(), times(r.work(), ours.work()), r.megabytes(), times(r.megabytes(), ours.megabytes()),
			float64(r.bytes)/1e6, times(float64(r.bytes), float64(ours.bytes)), r.requests, times(float64(r.requests), float64(ours.requests)), r.name)
	}
	w.Flush()
	fmt.Fprintln(out)
	for _, a := range b.aims() {
		fmt.Fprintln(out, a)
	}
	fmt.Fprintf(out, "\nTime, CPU and memory are medians of %d rounds; memory is that of all programs of a pipe. Answers, as\ncompressed as they come, and requests are counted in a round of its own, the only one of kubectl describe.\n", b.rounds)
}

// aims reports what was aimed at, and whether it is met.
func (b *bench) aims() []string {
	ours := b.rows[0]
	list := []string{aim("memory of rke-lm verify, at most 100 MB", ours.megabytes(), " MB", ours.megabytes() <= 100)}
	for _, r := range b.rows[1:] {
		if len(r.costs) == 0 {
			continue
		}
		least := map[string]float64{getName: 3, describeName: 40}[r.name]
		ratio := r.seconds() / ours.seconds()
		list = append(list, aim(fmt.Sprintf("%s, in times of rke-lm verify, at least %.0f", r.name, least), ratio, "", ratio >= least))
	}
	return list
}

func aim(what string, have float64, unit string, met bool) string {
	verdict := "met"
	if !met {
		verdict = "NOT met"
	}
	return fmt.Sprintf("%s: %.3g%s, %s", what, have, unit, verdict)
}
