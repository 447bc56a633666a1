// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Command release makes what can be downloaded: archives, lists of their modules, a
// container image, a manifest for krew, the checksums of all, and their provenance.
//
// Invariant: the same commit, built by the same release of Go, gives the same bytes in
// whatever folder and at whatever time. Nothing is read from the machine but the
// repository, the modules that go.sum names, and the helm that is given for an image.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	r := release{}
	platforms := flag.String("platforms", "", "platforms such as linux/amd64,darwin/arm64 (default: all)")
	flag.StringVar(&r.source, "source", "..", "the repository")
	flag.StringVar(&r.out, "out", "", "folder for the files; it is emptied first")
	flag.StringVar(&r.version, "version", "", "version such as v0.1.0 (default: what git describes)")
	flag.StringVar(&r.baseURL, "base-url", "", "URL below which the files will be; without it there is no manifest for krew")
	flag.StringVar(&r.builder, "builder", builder, "URI of what runs this program, for the provenance")
	var helms []string
	flag.Func("helm", "program of helm 3 for Linux, for a second image that has it; repeatable, one for each architecture", func(file string) error {
		helms = append(helms, file)
		return nil
	})
	pin := flag.Bool("pin", false, "make the two commits after the release whose files are in the folder: with its checksums, and with the examples that name the first")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := r.read(ctx, *platforms)
	if err == nil {
		err = r.readHelms(helms)
	}
	switch {
	case err != nil:
	case *pin:
		err = r.pin(ctx)
	default:
		err = r.make(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
