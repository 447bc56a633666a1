// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench compares rke-lm verify with what people look at provider IDs with: kubectl describe and
// kubectl get, on one real API server; and rke-lm status of a Rancher with a list of its clusters.
//
// Invariant: every ratio is of measurements of one run on one machine, of commands that all found every
// node, and nothing fails because it was slow.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := bench{}
	flag.IntVar(&b.nodes, "nodes", 5000, "number of nodes")
	flag.IntVar(&b.clusters, "clusters", 500, "number of clusters of a Rancher")
	flag.IntVar(&b.rounds, "rounds", 3, "number of rounds; an odd one has a median")
	flag.IntVar(&b.described, "describe", 1, "number of rounds of kubectl describe, which takes minutes; 0 leaves it out")
	flag.Parse()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

type bench struct {
	nodes, clusters, rounds, described int

	folder        string
	ours, kubectl string
	nodeSize      int // of one node, as JSON
	jq            program
	server        string // the version of kube-apiserver
	rows          []*row
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.folder, err = os.MkdirTemp("", "rke-lm-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.folder)
	if err := b.programs(ctx); err != nil {
		return err
	}
	if err := b.verify(ctx); err != nil {
		return err
	}
	return b.status(ctx)
}

// verify compares rke-lm verify with kubectl.
func (b *bench) verify(ctx context.Context) error {
	c, err := cluster.Start(ctx, filepath.Join(b.folder, "cluster"), cluster.LastInTree, cluster.Short)
	if err != nil {
		return err
	}
	defer c.Stop()
	b.server = c.Version
	if err := b.fill(ctx, c); err != nil {
		return err
	}
	if err := b.list(c); err != nil {
		return err
	}
	if err := b.measure(ctx); err != nil {
		return err
	}
	b.print(os.Stdout)
	return nil
}

// program is a program that is compared with, and how to tell which one it was.
type program struct{ path, name string }

// programs builds the programs that are measured.
func (b *bench) programs(ctx context.Context) (err error) {
	b.ours = filepath.Join(b.folder, "rke-lm")
	if err := buildOurs(ctx, b.ours); err != nil {
		return err
	}
	if b.kubectl, err = build.Kubectl.Path(ctx); err != nil {
		return err
	}
	b.jq, err = findJQ(ctx)
	return err
}

// list lists the commands that are measured.
func (b *bench) list(c *cluster.Cluster) error {
	direct, err := c.Kubeconfig(cluster.Admin)
	if err != nil {
		return err
	}
	p, err := startProxy(c.Config(cluster.Admin))
	if err != nil {
		return err
	}
	counted, err := p.kubeconfig(filepath.Join(b.folder, "counted.kubeconfig"))
	if err != nil {
		return err
	}
	add := func(r row) {
		r.direct, r.counted, r.proxy, r.folder = direct, counted, p, b.folder
		b.rows = append(b.rows, &r)
	}
	add(row{name: verifyName, commands: [][]string{{b.ours, "verify", "--stage", "verify-provider-ids"}}, rounds: b.rounds, found: foundByVerify(b.nodes)})
	add(row{name: getName, commands: [][]string{{b.kubectl, "get", "nodes", "-o", "json"}, {b.jq.path, "-r", `.items[] | .metadata.name + " " + .spec.providerID`}}, rounds: b.rounds, found: foundLines(b.nodes)})
	add(row{name: describeName, commands: [][]string{{b.kubectl, "describe", "nodes"}, {"grep", "ProviderID"}}, rounds: b.described, slow: true, found: foundLines(b.nodes)})
	return nil
}

// findJQ takes the machine's own jq, or builds one.
func findJQ(ctx context.Context) (program, error) {
	if path, err := exec.LookPath("jq"); err == nil {
		version, err := exec.CommandContext(ctx, path, "--version").Output()
		return program{path, string(version)}, err
	}
	path, err := build.Gojq.Path(ctx)
	return program{path, "gojq " + build.Gojq.Version}, err
}

// buildOurs builds rke-lm as it is shipped.
func buildOurs(ctx context.Context, file string) error {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/rke-lm/rke-lm").Output()
	if err != nil {
		return fmt.Errorf("bench: go list: %w; run it in the folder lab", err)
	}
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, "./cmd/rke-lm")
	c.Dir, c.Stderr = string(root[:max(0, len(root)-1)]), os.Stderr
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	return c.Run()
}

// measure runs the commands alternately, so that other load on the machine affects all of them.
func (b *bench) measure(ctx context.Context) error {
	for _, r := range b.rows {
		if r.slow {
			continue
		}
		b.say("counting: " + r.name)
		if err := r.count(ctx); err != nil {
			return err
		}
	}
	for round := range b.rounds {
		for _, r := range b.rows {
			if round >= r.rounds {
				continue
			}
			b.say(fmt.Sprintf("round %d of %d: %s", round+1, b.rounds, r.name))
			if err := r.time(ctx); err != nil {
				return err
			}
		}
	}
	b.say("")
	if len(b.rows[0].costs) == 0 {
		return errors.New("bench: there are no rounds; ask for at least one with -rounds")
	}
	return nil
}

// say shows what happens, and for how long the bench may seem to do nothing.
func (b *bench) say(what string) {
	fmt.Fprintf(os.Stderr, "\r%-90s\r", what)
	if what != "" {
		fmt.Fprintf(os.Stderr, "%s %s", time.Now().Format("15:04:05"), what)
	}
}
