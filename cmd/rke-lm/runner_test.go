// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// ours is a workflow command that rke-lm writes: with a title.
var ours = regexp.MustCompile(`^::(error|warning|notice) (file=[^,:]*,)?(line=\d+,)?title=[^:,]*::`)

// A runner of GitHub reads both streams, and takes lines of them for commands.
func TestNoNameOrTextOfAChangeCommandsARunner(t *testing.T) {
	h := newHistory(t)
	h.write("clusters/harbour.yaml", pier)
	h.write("clusters/a.yaml", "a: b\n")
	h.commit("base")
	for _, name := range []string{
		"clusters/x\n::error title=pwned::y.yaml", "clusters/\n  ::set-output name=pwned::y.yaml", "clusters/\r\n::stop-commands::pwned.yaml", "clusters/##[error]pwned.yaml",
		"clusters/\n##[set-output name=pwned]y.yaml", "clusters/\u00a0\n\u00a0::add-mask::pwned.yaml", "clusters/##vso[pwned]y.yaml",
	} {
		h.write(name, "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\n \"::error::pwned\": [\n")
		h.write(strings.Replace(name, "clusters/", "clusters/good", 1), strings.Replace(pier, "pier", "p"+name[len(name)-9:len(name)-5], 1)+"      \"\\n::error::pwned ##[error]pwned\": x\n")
	}
	h.write(".rke-lm.yaml", "accept: [\"x\\n::error::pwned ##[error]\"]\n")
	shown := false
	for _, args := range [][]string{
		{"review", "--base", "main"}, {"lint", "clusters"}, {"plan", "clusters"}, {"lint", "clusters/\n::error::pwned"}, {"plan", "--config", "\n::error::pwned", "clusters"},
		{"apply", "--next", "--dry-run", "clusters"}, {"review", "--base", "\n::error::pwned"}, {"plan", "--distro", "##[error]pwned"},
	} {
		for _, format := range [][]string{{"-o", "github"}, nil} {
			if args[0] == "apply" && format != nil {
				continue
			}
			r := runHere(t, "", append(args[:len(args):len(args)], format...)...)
			for line := range strings.SplitSeq(r.stdout+"\n"+r.stderr, "\n") {
				line = strings.TrimLeftFunc(line, unicode.IsSpace)
				shown = shown || strings.Contains(line, "pwned")
				assert.Truef(t, (!strings.HasPrefix(line, "::") || ours.MatchString(line)) && !strings.Contains(line, "##[") && !strings.Contains(line, "##vso["), "%q %v: a command: %q", args, format, line)
			}
		}
	}
	assert.True(t, shown, "nothing of the change is shown")
}
