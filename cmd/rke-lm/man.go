// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newManual writes the pages of the manual, for packages.
func newManual(o *options) *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write the pages of the manual",
		Long:   "Write a page of the manual for each command into a folder. The date is that of SOURCE_DATE_EPOCH, or today.",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := c.Root()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Section: "1", Source: "rke-lm " + currentBuild().Version, Manual: "rke-lm"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("man: %w", err)
			}
			fmt.Fprintf(o.Err, "%s: pages written\n", args[0])
			return nil
		},
	}
}
