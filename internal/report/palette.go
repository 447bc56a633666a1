// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"

	"github.com/rke-lm/rke-lm/transform"
)

// Palette colours text that a Legible brings to a terminal; the zero Palette does
// not.
type Palette struct {
	On    bool
	Width int // of the terminal; 0 for none
}

const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// paint colours a text that is one line.
func (p Palette) paint(code, text string) string {
	text = strings.ReplaceAll(text, "\n", `\n`)
	if !p.On || text == "" {
		return text
	}
	return steer(code+"m") + text + steer("0m")
}

func (p Palette) state(s Stage) string {
	switch s.State {
	case transform.Done:
		return p.paint(green, s.Word())
	case transform.Blocked:
		return p.paint(red, s.Word())
	}
	return p.paint(yellow, s.Word())
}

func (p Palette) severity(s transform.Severity) string {
	switch s {
	case transform.Error:
		return p.paint(red, string(s))
	case transform.Warning:
		return p.paint(yellow, string(s))
	}
	return p.paint(cyan, string(s))
}
