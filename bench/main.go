// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench compares rke-lm with the least that any tool must do, one parse
// of the same bytes with kyaml, and with yq.
//
// Invariant: everything is a ratio of two measurements of the same round on the
// same machine, so that neither its speed nor what else it does decides, and
// nothing fails because it was slow.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/rke-lm/rke-lm/internal/fleet"
)

func main() {
	if pass, name := os.Getenv(passVariable), ""; pass != "" {
		if len(os.Args) > 1 {
			name = os.Args[1]
		}
		exit(passes[pass](name))
	}
	b := bench{}
	flag.IntVar(&b.clusters, "clusters", 10_000, "number of clusters")
	flag.IntVar(&b.rounds, "rounds", 3, "number of rounds; an odd one has a median")
	flag.IntVar(&b.most, "most", 10_000, "number of clusters up to which growth is measured, from 1000 on")
	flag.StringVar(&b.markdown, "markdown", "", "file to write the tables to, as a page of the documentation")
	flag.StringVar(&b.folder, "folder", "", "folder to keep the clusters and programs in (default: a temporary one)")
	flag.Parse()
	exit(b.run())
}

// passVariable names the pass that a process is to make.
const passVariable = "RKE_LM_BENCH_PASS"

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

type bench struct {
	clusters, rounds, most int
	folder, markdown       string
	self                   string
}

func (b *bench) run() error {
	if b.folder == "" {
		folder, err := os.MkdirTemp("", "rke-lm-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		b.folder = folder
	}
	var err error
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if err := b.build(); err != nil {
		return err
	}
	if err := b.write(); err != nil {
		return err
	}
	rows := b.rows()
	for round := range b.rounds {
		for i := range rows {
			fmt.Fprintf(os.Stderr, "\rround %d of %d: %-50s", round+1, b.rounds, rows[i].group+", "+rows[i].name)
			if err := rows[i].measure(); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(os.Stderr, "\r%-70s\r", "")
	var out bytes.Buffer
	table{bench: b, rows: rows}.print(&out)
	for _, more := range []func(io.Writer) error{b.growth, b.tree, b.hard} {
		fmt.Fprintln(&out)
		if err := more(&out); err != nil {
			return err
		}
	}
	os.Stdout.Write(out.Bytes())
	if b.markdown == "" {
		return nil
	}
	return os.WriteFile(b.markdown, b.page(out.String()), 0o644)
}

func (b *bench) path(name string) string { return filepath.Join(b.folder, name) }

// build makes the two programs.
func (b *bench) build() error {
	for _, p := range []struct{ folder, name, module string }{
		{"..", "rke-lm", "./cmd/rke-lm"},
		{".", "yq", "github.com/mikefarah/yq/v4"},
	} {
		c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.path(p.name), p.module)
		c.Dir, c.Stderr = p.folder, os.Stderr
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if err := c.Run(); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	return nil
}

// The inputs. In the sparse one, one document in a hundred is a cluster.
const (
	stream = "stream.yaml"
	files  = "files"
	sparse = "sparse.yaml"
	copied = "copy"
)

func (b *bench) create(name string, write func(*os.File) error) error {
	f, err := os.Create(b.path(name))
	if err != nil {
		return err
	}
	defer f.Close()
	return write(f)
}

// write writes the inputs.
func (b *bench) write() error {
	if err := b.create(stream, func(f *os.File) error { return fleet.Stream(f, b.clusters) }); err != nil {
		return err
	}
	if err := b.create(sparse, func(f *os.File) error { return fleet.Sparse(f, 2*b.clusters, 100) }); err != nil {
		return err
	}
	return fleet.Folder(b.path(files), b.clusters)
}

// rows lists what is measured, in the order of the table.
func (b *bench) rows() []row {
	one := []string{"apply", "--stage", "grant-migration-lease", "--stdout"}
	external := []string{"--end-state", "external", "--accept", "node-rename"}
	all := append([]string{"apply", "--stage", "disable-leader-migration", "--through", "--stdout"}, external...)
	plan := append([]string{"plan"}, external...)
	var rows []row
	add := func(input, name string, command ...string) *row {
		rows = append(rows, row{group: input, name: name, command: append(command, b.path(input))})
		return &rows[len(rows)-1]
	}
	rkelm := func(input, name string, args ...string) *row {
		r := add(input, name, append([]string{b.path("rke-lm")}, args...)...)
		r.ours = true
		return r
	}
	pass := func(input, name, pass string) { add(input, name, b.self).env = []string{passVariable + "=" + pass} }
	for _, input := range []string{stream, files} {
		pass(input, baseline, "parse")
		rkelm(input, oneStage, one...)
		rkelm(input, oneStageOneCore, one...).env = []string{"GOMAXPROCS=1"}
		rkelm(input, allStages, all...)
		rkelm(input, planned, plan...)
		pass(input, yqLibrary, "yq")
		pass(input, "kyaml's kio, one edit", "kio")
		pass(input, "kustomize, one patch", "kustomize")
	}
	add(stream, "yq, its program, one edit", b.path("yq"), yqEdit)
	inPlace := rkelm(copied, "one stage, written in place", one[:len(one)-1]...)
	inPlace.group, inPlace.prepare = files, b.copyFiles
	pass(sparse, baseline, "parse")
	rkelm(sparse, oneStage, one...)
	pass(sparse, yqLibrary, "yq")
	return rows
}

// copyFiles gives a program that writes files new ones.
func (b *bench) copyFiles() error {
	if err := os.RemoveAll(b.path(copied)); err != nil {
		return err
	}
	return os.CopyFS(b.path(copied), os.DirFS(b.path(files)))
}
