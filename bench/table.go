// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"
)

// Rows that aims speak of.
const (
	baseline        = "one parse with kyaml"
	oneStage        = "one stage"
	oneStageOneCore = "one stage, on one core"
	allStages       = "all stages"
	planned         = "plan, all stages with diffs"
	yqLibrary       = "yq, its library, one edit"
)

// row is one thing that is measured, once in every round.
type row struct {
	group, name string
	ours        bool
	env         []string
	command     []string
	prepare     func() error
	costs       []cost
}

func (r *row) measure() error {
	if r.prepare != nil {
		if err := r.prepare(); err != nil {
			return err
		}
	}
	c, err := run(r.env, r.command...)
	r.costs = append(r.costs, c)
	return err
}

// each returns the median of a number that every round has.
func (r row) each(number func(round int) float64) float64 {
	values := make([]float64, len(r.costs))
	for i := range values {
		values[i] = number(i)
	}
	return median(values)
}

func (r row) megabytes() float64 {
	return r.each(func(i int) float64 { return float64(r.costs[i].memory) / 1e6 })
}

// over is the median ratio of the times of two rows, round by round.
func (r row) over(other row) float64 {
	return r.each(func(i int) float64 { return float64(r.costs[i].wall) / float64(other.costs[i].wall) })
}

func (r row) workOver(other row) float64 {
	return r.each(func(i int) float64 { return float64(r.costs[i].cpu) / float64(other.costs[i].cpu) })
}

func (r row) cores() float64 {
	return r.each(func(i int) float64 { return float64(r.costs[i].cpu) / float64(r.costs[i].wall) })
}

type table struct {
	*bench
	rows []row
}

func (t table) row(group, name string) row {
	for _, r := range t.rows {
		if r.group == group && r.name == name {
			return r
		}
	}
	panic("no row " + group + ", " + name)
}

// titles say what an input is.
var titles = map[string]string{
	stream: "one stream",
	files:  "a folder of files",
	sparse: "a stream, 1 % clusters",
}

var inputs = []string{stream, files, sparse}

func (t table) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%d clusters, %d cores, medians of %d rounds\n", t.clusters, runtime.NumCPU(), t.rounds)
	for _, input := range inputs {
		base := t.row(input, baseline)
		fmt.Fprintf(w, "\n%s%s\ttime\twork\tcores\tmemory\n", titles[input], size(t.path(input)))
		for _, r := range t.rows {
			if r.group == input {
				fmt.Fprintf(w, "  %s\t%.2f\t%.2f\t%.1f\t%.0f MB\n", r.name, r.over(base), r.workOver(base), r.cores(), r.megabytes())
			}
		}
	}
	fmt.Fprint(w, "\naim\t\tmeasured\n")
	for _, a := range t.aims() {
		verdict := "met"
		switch {
		case a.limit == "":
			verdict = ""
		case !a.met:
			verdict = "NOT met"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", a.what, a.limit, a.have, verdict)
	}
	fmt.Fprintln(w, "\nTime is by the clock and work is summed over the cores, both in parses of the same bytes.")
	fmt.Fprintln(w, "Cores is how many a program had; on a machine with other users, fewer than it could use.")
	w.Flush()
}

func size(path string) string {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return ""
	}
	return fmt.Sprintf(" of %.0f MB", float64(info.Size())/1e6)
}

// aim is what the project wants to reach.
type aim struct {
	what, limit, have string
	met               bool
}

func (t table) aims() []aim {
	var aims []aim
	atMost := func(what string, limit, have float64, unit string) {
		aims = append(aims, aim{what, fmt.Sprintf("≤ %.3g%s", limit, unit), fmt.Sprintf("%.3g%s", have, unit), have <= limit})
	}
	atLeast := func(what string, limit, have float64) {
		aims = append(aims, aim{what, fmt.Sprintf("≥ %.3g", limit), fmt.Sprintf("%.3g", have), have >= limit})
	}
	for _, in := range []string{stream, files} {
		yq, parse, one, all := t.row(in, yqLibrary), t.row(in, baseline), t.row(in, oneStage), t.row(in, allStages)
		atMost(titles[in]+": CPU of one stage, in times of yq's edit", 0.7, one.workOver(yq), "")
		atMost(titles[in]+": CPU of all stages, in times of yq's edit", 2, all.workOver(yq), "")
		atMost(titles[in]+": CPU of plan, in times of yq's edit", 2.5, t.row(in, planned).workOver(yq), "")
		atMost(titles[in]+": CPU of one stage, in parses", 2, one.workOver(parse), "")
		atMost(titles[in]+": CPU of all stages, in parses", 6, all.workOver(parse), "")
		atLeast(titles[in]+": yq, in times of one stage by the clock", 3, yq.over(one))
	}
	most := 0.0
	for _, r := range t.rows {
		if r.ours {
			most = max(most, r.megabytes())
		}
	}
	atMost("memory, the most of all runs of rke-lm", 64, most, " MB")
	return aims
}
