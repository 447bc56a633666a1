// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/clusters"
)

// The values of --dry-run, which needs none: client prints the diff, server lets the API server do all but keep the
// change.
const (
	onClient = "client"
	onServer = "server"
)

// rewriteFlags are those of verbs that write files.
func (o *options) rewriteFlags(c *cobra.Command, files *clusters.Rewriter, server *bool) {
	files.Out = o.Data
	c.Flags().BoolFunc("dry-run", "print the diff and write nothing; =server also lets the API server of a Rancher check the change", func(value string) error {
		switch value {
		case onClient, onServer, "true":
			files.DryRun, *server = true, value == onServer
		case "false", "none":
			files.DryRun, *server = false, false
		default:
			return errors.New("use client or server")
		}
		return nil
	})
	c.Flags().Lookup("dry-run").DefValue = "false"
	c.Flags().BoolVar(&files.Print, "stdout", false, "print the file instead of writing it")
	c.MarkFlagsMutuallyExclusive("dry-run", "stdout")
	o.verboseFlag(c.Flags(), "")
}
