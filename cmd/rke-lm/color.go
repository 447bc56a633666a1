// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"

	"github.com/rke-lm/rke-lm/internal/report"
)

// When the output has colors.
const (
	colorAuto   = "auto" // on a terminal
	colorAlways = "always"
	colorNever  = "never"
)

var colors = []string{colorAuto, colorAlways, colorNever}

// palette is that of an output: its colors and its width.
func (o *options) palette(w io.Writer, wide bool) report.Palette {
	terminal := isTerminal(underneath(w))
	return report.Palette{On: o.colored(terminal, os.Getenv), Width: width(underneath(w)), Wide: wide}
}

// colored decides on colors: a flag wins over the environment (no-color.org,
// bixense.com/clicolors).
func (o *options) colored(terminal bool, getenv func(string) string) bool {
	force := getenv("CLICOLOR_FORCE")
	switch {
	case o.noColor || o.color == colorNever:
		return false
	case o.color == colorAlways:
		return true
	case getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return terminal
}
