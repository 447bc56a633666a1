// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"regexp"
	"strings"
)

// Section is one of a provider's configuration file: [Name "Label"] and its
// settings.
type Section struct {
	Name, Label string
	Settings    []Setting
}

// Setting is one line of a section.
type Setting struct{ Name, Value string }

// INI writes a provider's configuration as its reader (gcfg) takes it; sections
// without settings are left out.
func INI(sections []Section) string {
	var b strings.Builder
	for _, s := range sections {
		if len(s.Settings) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString("[" + s.Name)
		if s.Label != "" {
			b.WriteString(" " + quoted(s.Label))
		}
		b.WriteString("]\n")
		for _, v := range s.Settings {
			b.WriteString(v.Name + " = " + iniValue(v.Value) + "\n")
		}
	}
	return b.String()
}

// plainValue needs no quotes: nothing in it starts a comment or an escape.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9:/._@*+-]+$`)

func iniValue(s string) string {
	if plainValue.MatchString(s) {
		return s
	}
	return quoted(s)
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}
