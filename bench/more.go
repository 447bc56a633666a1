// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"text/tabwriter"

	"github.com/rke-lm/rke-lm/internal/fleet"
)

// smallest is the number of clusters that more of them are compared with.
const smallest = 1000

// growth measures ever more clusters: each must cost what the first ones did.
func (b *bench) growth(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "clusters, one stage of a folder\tCPU per cluster\tin times of the first\tmemory")
	first := 0.0
	for n := smallest; n <= b.most; n *= 10 {
		name := "growth-" + strconv.Itoa(n)
		if err := fleet.Folder(b.path(name), n); err != nil {
			return err
		}
		c, err := run(nil, b.path("rke-lm"), "apply", "--stage", "grant-migration-lease", "--stdout", b.path(name))
		if err != nil {
			return err
		}
		each := float64(c.cpu.Microseconds()) / float64(n)
		if n == smallest {
			first = each
		}
		fmt.Fprintf(w, "  %d\t%.2f ms\t%.2f\t%.0f MB\n", n, each/1000, each/first, float64(c.memory)/1e6)
		os.RemoveAll(b.path(name))
	}
	return w.Flush()
}

// The work tree has as many files, of which one in a hundred is a cluster.
const treeFiles = 10_000

// tree looks for the clusters of a work tree, compared with a program that only reads.
func (b *bench) tree(out io.Writer) error {
	tree := b.path("tree")
	for i := range treeFiles {
		text := fleet.Other(i)
		if i%100 == 50 {
			text = fleet.Cluster(i / 100)
		}
		file := filepath.Join(tree, fmt.Sprintf("%03d", i/100), fmt.Sprintf("%05d.yaml", i))
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}} {
		if err := exec.Command("git", append([]string{"-C", tree}, args...)...).Run(); err != nil {
			return err
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "a work tree of %d files, 1 %% clusters\ttime\tCPU\tmemory\n", treeFiles)
	for _, line := range [][]string{
		{"git", "-C", tree, "grep", "-l", "provisioning.cattle.io"},
		{b.path("rke-lm"), "explain", tree},
		{b.path("rke-lm"), "apply", "--stage", "grant-migration-lease", "--dry-run", tree},
	} {
		var costs row
		for range b.rounds {
			c, err := run(nil, line...)
			if err != nil {
				return err
			}
			costs.costs = append(costs.costs, c)
		}
		ms := func(of func(cost) float64) float64 {
			return costs.each(func(i int) float64 { return of(costs.costs[i]) })
		}
		name := filepath.Base(line[0]) + " " + line[1]
		if line[0] == "git" {
			name = "git grep -l"
		}
		fmt.Fprintf(w, "  %s\t%.0f ms\t%.0f ms\t%.0f MB\n", name, ms(func(c cost) float64 { return c.wall.Seconds() * 1000 }),
			ms(func(c cost) float64 { return c.cpu.Seconds() * 1000 }), costs.megabytes())
	}
	return w.Flush()
}

// mostForTwice is what twice of anything may take, in times of it.
const mostForTwice = 2.6

// hard plans clusters with many of one thing, with twice and with four times as many.
func (b *bench) hard(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "plan of one cluster with many\tn\tCPU for n\t2n\t4n, in times of the half\tmemory for n\t2n\t4n, in times of the half\t≤ %.1f\n", mostForTwice)
	for _, h := range fleet.Hardest() {
		var of [3]row
		for range b.rounds {
			for i := range of {
				if err := b.create("hard.yaml", func(f *os.File) error { _, err := f.WriteString(h.With(h.Usual << i)); return err }); err != nil {
					return err
				}
				c, err := run(nil, b.path("rke-lm"), "plan", "--end-state", "external", b.path("hard.yaml"))
				if err != nil {
					return err
				}
				of[i].costs = append(of[i].costs, c)
			}
		}
		work, memory, verdict := [2]float64{}, [2]float64{}, "met"
		for i := range work {
			work[i], memory[i] = of[i+1].workOver(of[i]), of[i+1].megabytes()/of[i].megabytes()
			if max(work[i], memory[i]) > mostForTwice {
				verdict = "NOT met"
			}
		}
		fmt.Fprintf(w, "  %s\t%d\t%.2f s\t%.2f\t%.2f\t%.0f MB\t%.2f\t%.2f\t%s\n", h.Of, h.Usual, of[0].each(func(i int) float64 { return of[0].costs[i].cpu.Seconds() }),
			work[0], work[1], of[0].megabytes(), memory[0], memory[1], verdict)
	}
	return w.Flush()
}
