// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/rke-lm/rke-lm/internal/fleet"
)

var (
	external = []string{"--end-state", "external", "--accept", "node-rename"}
	oneStage = []string{"apply", "--stage", "grant-migration-lease", "--stdout"}
	inPlace  = []string{"apply", "--stage", "grant-migration-lease"}
	all      = append([]string{"apply", "--stage", "disable-leader-migration", "--through", "--stdout"}, external...)
	plan     = append([]string{"plan", "--all"}, external...)
)

// rkelm is a row of rke-lm.
func (b *bench) rkelm(name string, args []string, paths ...string) *row {
	return &row{name: "rke-lm: " + name, commands: [][]string{append(append([]string{b.ours}, args...), paths...)}}
}

// files compares rke-lm on a folder of different clusters with yq, which makes one edit of one key in its own style,
// and proves nothing.
func (b *bench) files(ctx context.Context) (string, error) {
	folder, copied := b.path("files"), b.path("copy")
	if err := fleet.Folder(folder, b.clusters); err != nil {
		return "", err
	}
	edit := []string{b.yq, `.spec.rkeConfig.machineGlobalConfig.cloud-provider-name = "external"`}
	err := filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			edit = append(edit, name)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	yq := &row{name: "yq: one edit", commands: [][]string{edit}}
	one, each, planned := b.rkelm("one stage", oneStage, folder), b.rkelm("all stages", all, folder), b.rkelm("plan, all stages with diffs", plan, folder)
	written := b.rkelm("one stage, written in place", inPlace, copied)
	written.prepare = func() error {
		if err := os.RemoveAll(copied); err != nil {
			return err
		}
		return os.CopyFS(copied, os.DirFS(folder))
	}
	rows := []*row{yq, one, each, planned, written}
	if err := b.measure(ctx, rows...); err != nil {
		return "", err
	}
	most := 0.0
	for _, r := range rows[1:] {
		most = max(most, r.megabytes())
	}
	return table(fmt.Sprintf("%d clusters in files of their own", b.clusters), costs(yq), rows, atMost("memory of rke-lm, MB", 250, most)), nil
}

// smallest is the number of clusters that more of them are compared with.
const smallest = 1000

// growth measures ever more clusters: each must cost what the first ones did.
func (b *bench) growth(ctx context.Context) (string, error) {
	var rows []*row
	number := map[*row]float64{}
	for n := smallest; n <= b.most; n *= 10 {
		folder := b.path("growth-" + strconv.Itoa(n))
		if err := fleet.Folder(folder, n); err != nil {
			return "", err
		}
		r := b.rkelm(strconv.Itoa(n)+" clusters", oneStage, folder)
		r.once = true
		rows, number[r] = append(rows, r), float64(n)
	}
	if err := b.measure(ctx, rows...); err != nil {
		return "", err
	}
	each := func(r *row) float64 { return r.work() / number[r] }
	return table("one stage of a folder", []column{
		{"CPU per cluster", "%.2f ms", func(r *row) float64 { return each(r) * 1000 }},
		{"× the first", "%.2f", func(r *row) float64 { return each(r) / each(rows[0]) }},
		{"memory", "%.0f MB", (*row).megabytes},
	}, rows), nil
}

// The work tree has as many files, of which one in a hundred is a cluster.
const treeFiles = 10_000

// tree looks for the clusters of a work tree, compared with a program that only reads.
func (b *bench) tree(ctx context.Context) (string, error) {
	tree := b.path("tree")
	if err := fleet.Tree(tree, treeFiles); err != nil {
		return "", err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}} {
		if err := exec.CommandContext(ctx, "git", append([]string{"-C", tree}, args...)...).Run(); err != nil {
			return "", err
		}
	}
	grep := &row{name: "git grep -l", commands: [][]string{{"git", "-C", tree, "grep", "-l", "provisioning.cattle.io"}}}
	rows := []*row{grep, b.rkelm("explain", []string{"explain"}, tree), b.rkelm("apply", inPlace, "--dry-run", tree)}
	if err := b.measure(ctx, rows...); err != nil {
		return "", err
	}
	return table(fmt.Sprintf("a work tree of %d files, 1 %% clusters", treeFiles), costs(grep), rows), nil
}

// mostForTwice is what twice of anything may take, in times of it.
const mostForTwice = 2.6

// hard plans clusters with many of one thing, with twice and with four times as many.
func (b *bench) hard(ctx context.Context) (string, error) {
	var firsts []*row
	most := 0.0
	double := map[*row]*row{}
	for _, h := range fleet.Hardest() {
		var of [3]*row
		for i := range of {
			file := b.path(fmt.Sprintf("hard-%d.yaml", i))
			if err := os.WriteFile(file, []byte(h.With(h.Usual<<i)), 0o644); err != nil {
				return "", err
			}
			of[i] = b.rkelm(fmt.Sprintf("%d %s", h.Usual<<i, h.Of), plan, file)
			if i > 0 {
				double[of[i-1]] = of[i]
			}
		}
		if err := b.measure(ctx, of[:]...); err != nil {
			return "", err
		}
		for _, r := range of[:2] {
			most = max(most, double[r].work()/r.work(), double[r].megabytes()/r.megabytes())
		}
		of[0].name = fmt.Sprintf("%s: n = %d", h.Of, h.Usual)
		firsts = append(firsts, of[0])
	}
	ratio := func(number func(*row) float64, times int) func(*row) float64 {
		return func(r *row) float64 {
			for range times {
				r = double[r]
			}
			return number(double[r]) / number(r)
		}
	}
	return table("plan of one cluster with many", []column{
		{"CPU", "%.2f s", (*row).work},
		{"2n / n", "%.2f", ratio((*row).work, 0)},
		{"4n / 2n", "%.2f", ratio((*row).work, 1)},
		{"memory", "%.0f MB", (*row).megabytes},
		{"2n / n", "%.2f", ratio((*row).megabytes, 0)},
		{"4n / 2n", "%.2f", ratio((*row).megabytes, 1)},
	}, firsts, atMost("the largest ratio", mostForTwice, most)), nil
}
