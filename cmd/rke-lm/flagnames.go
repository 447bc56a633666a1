// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// meantFlag answers a flag that does not exist with the one that was meant, if no other can be.
func meantFlag(c *cobra.Command, err error) string {
	help := "see " + c.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return help
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	name, _, _ := strings.Cut(unknown.GetSpecifiedName(), "=")
	if did := meant(name, known, ""); did != "" {
		return strings.Replace(did, "mean ", "mean --", 1)
	}
	return help
}
