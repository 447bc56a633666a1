// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench compares rke-lm with what people do the same work with: yq, git grep and kubectl. It reads a folder of
// clusters, ever more clusters, hard inputs, 5,000 nodes, and the clusters of a Rancher.
//
// Invariant: every ratio is of measurements of one run on one machine, of commands that found all that there
// was, and nothing fails because it was slow.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/rke-lm/rke-lm/lab/build"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := bench{}
	flag.IntVar(&b.clusters, "clusters", 500, "number of clusters, of files and of a Rancher")
	flag.IntVar(&b.most, "most", 10_000, "number of clusters up to which growth is measured, from 1000 on")
	flag.IntVar(&b.nodes, "nodes", 5000, "number of nodes; 0 leaves out API servers")
	flag.IntVar(&b.rounds, "rounds", 3, "number of rounds; an odd one has a median")
	flag.BoolVar(&b.describe, "describe", true, "run kubectl describe, which takes minutes")
	flag.StringVar(&b.ours, "rke-lm", "", "binary to measure (default: this commit's)")
	markdown := flag.String("markdown", "", "file to write the tables to, as a page of the documentation")
	flag.Parse()
	if err := b.run(ctx, *markdown); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

type bench struct {
	clusters, most, nodes, rounds int
	describe                      bool

	folder            string
	ours, kubectl, yq string
	jq                program
	nodeSize          int    // of one node, as JSON
	server            string // the version of kube-apiserver
}

// program is a program that is compared with, and how to tell which one it was.
type program struct{ path, name string }

func (b *bench) run(ctx context.Context, markdown string) (err error) {
	if b.rounds < 1 {
		return fmt.Errorf("there are no rounds; ask for at least one with -rounds")
	}
	if b.folder, err = os.MkdirTemp("", "rke-lm-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.folder)
	if err := b.programs(ctx); err != nil {
		return err
	}
	parts := []func(context.Context) (string, error){b.files, b.growth, b.tree, b.hard, b.verify, b.status}
	if b.nodes == 0 {
		parts = parts[:4]
	}
	var all bytes.Buffer
	for _, part := range parts {
		text, err := part(ctx)
		if err != nil {
			return err
		}
		b.show("")
		fmt.Println(text)
		fmt.Fprintln(&all, text)
	}
	if markdown == "" {
		return nil
	}
	return os.WriteFile(markdown, page(bytes.TrimSpace(all.Bytes())), 0o644)
}

// programs builds the programs that are measured.
func (b *bench) programs(ctx context.Context) (err error) {
	if b.ours == "" {
		b.ours = b.path("rke-lm")
		err = build.Tool(ctx, b.ours, "-trimpath", "-ldflags", "-s -w")
	}
	for p, of := range map[*string]build.Program{&b.yq: build.Yq, &b.kubectl: build.Kubectl} {
		if err == nil {
			*p, err = of.Path(ctx)
		}
	}
	if err != nil {
		return err
	}
	b.jq, err = findJQ(ctx)
	return err
}

func (b *bench) path(name string) string { return filepath.Join(b.folder, name) }

// findJQ takes the machine's own jq, or builds one.
func findJQ(ctx context.Context) (program, error) {
	if path, err := exec.LookPath("jq"); err == nil {
		version, err := exec.CommandContext(ctx, path, "--version").Output()
		return program{path, string(bytes.TrimSpace(version))}, err
	}
	path, err := build.Gojq.Path(ctx)
	return program{path, "gojq " + build.Gojq.Version}, err
}

// measure runs the commands alternately, so that other load on the machine affects all of them.
func (b *bench) measure(ctx context.Context, rows ...*row) error {
	for round := range b.rounds {
		for _, r := range rows {
			if r.once && round > 0 {
				continue
			}
			b.show(fmt.Sprintf("round %d of %d: %s", round+1, b.rounds, r.name))
			if err := r.run(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// show shows what happens, and for how long the bench may seem to do nothing.
func (b *bench) show(what string) {
	fmt.Fprintf(os.Stderr, "\r%-90s\r", what)
	if what != "" {
		fmt.Fprintf(os.Stderr, "%s %s", time.Now().Format("15:04:05"), what)
	}
}
