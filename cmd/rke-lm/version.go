// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// version and commit are set by the linker.
var version, commit = "", ""

// build describes the program.
type build struct {
	report.TypeMeta
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Tables   facts  `json:"tables"`
}

// facts describes the tables of what Rancher gives the releases of RKE2.
type facts struct {
	Date   string `json:"date"`
	Newest string `json:"newestRelease"`
}

func newVersion(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noFiles,
		RunE: func(*cobra.Command, []string) error {
			if o.OutputFormat != "text" {
				return o.Dump(currentBuild())
			}
			fmt.Fprint(o.Out, currentBuild())
			return nil
		},
	}
	o.outputFlag(c, "text", "json", "yaml")
	return c
}

// String is what version and --version print.
func (b build) String() string {
	return fmt.Sprintf("rke-lm %s (%s, %s)\nRKE2 releases up to %s, Rancher metadata of %s\n", b.Version, b.Go, b.Platform, b.Tables.Newest, b.Tables.Date)
}

func currentBuild() build {
	b := build{TypeMeta: report.Type("Version"), Version: version, Revision: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Tables: releaseTables()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(b.Version, info.Main.Version)
	built, _ := lists.Find(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "vcs.revision" })
	b.Revision = cmp.Or(b.Revision, built.Value)
	return b
}
