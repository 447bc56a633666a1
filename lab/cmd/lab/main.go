// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Command lab builds the programs of the lab into its cache and prints where they are.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/rke-lm/rke-lm/lab/build"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, p := range build.Programs() {
		began := time.Now()
		file, err := p.Path(ctx)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%s %s %s (%.0f s)\n", p.Name, p.Version, file, time.Since(began).Seconds())
	}
}
