// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Command rancher-server is Rancher's server on loopback. All that it serves and does is Rancher's own code,
// of the version that go.mod names; Rancher's own command listens on every address and has no flag for that.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/rancher/rancher/pkg/rancher"
	"github.com/rancher/wrangler/v3/pkg/kubeconfig"
	"github.com/rancher/wrangler/v3/pkg/signals"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "rancher-server:", err)
		os.Exit(1)
	}
}

func run() error {
	options := rancher.Options{AddLocal: "true", BindHost: "127.0.0.1"}
	flags := flag.NewFlagSet("rancher-server", flag.ExitOnError) // libraries define flags of their own
	file := flags.String("kubeconfig", "", "file with the access to the cluster that Rancher runs in")
	flags.IntVar(&options.HTTPSListenPort, "https-listen-port", 0, "port of the server; the next one is taken too")
	flags.StringVar(&options.Features, "features", "", "features that are on or off, as in NAME=true,NAME=false")
	flags.DurationVar(&options.AggregationRegistrationTimeout, "aggregation-registration-timeout", 5*time.Minute, "how long kube-apiserver may take to find the extension API server")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	ctx := signals.SetupSignalContext()
	server, err := rancher.New(ctx, kubeconfig.GetNonInteractiveClientConfig(*file), &options)
	if err != nil {
		return err
	}
	return server.ListenAndServe(ctx)
}
