// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package architecture_test

import (
	"go/ast"
	"path"
	"slices"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// onTheMachinesTime are the tests that start processes. They wait for what these say.
var onTheMachinesTime = []string{"cmd/rke-lm/signal_test.go"}

// clocks depend on how fast a machine is, unless a bubble has its own clock. Sockets
// stop the clock of a bubble.
var (
	clocks = map[string][]string{
		"time":    {"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"},
		"context": {"WithDeadline", "WithDeadlineCause", "WithTimeout", "WithTimeoutCause"},
	}
	sockets = map[string][]string{"net/http/httptest": {"NewServer", "NewTLSServer", "NewUnstartedServer"}}
)

func TestTestsThatWaitHaveAClockOfTheirOwn(t *testing.T) {
	excused := 0
	for _, f := range files(t) {
		if !f.test {
			continue
		}
		if slices.Contains(onTheMachinesTime, f.path) {
			excused++
			continue
		}
		used := uses(f, clocks)
		assert.Truef(t, len(used) == 0 || slices.Contains(f.imports, "testing/synctest") || inBubbles(f), "%s uses %v; such tests fail on a busy machine: use testing/synctest, as CONTRIBUTING.md says", f.path, used)
		used = uses(f, sockets)
		assert.Truef(t, len(used) == 0, "%s uses %v; use memnet.Serve, as CONTRIBUTING.md says", f.path, used)
	}
	assert.Truef(t, excused == len(onTheMachinesTime), "%d of %v are there", excused, onTheMachinesTime)
}

// bubbles are the functions of internal/migrate, internal/controller and internal/observe whose tests are in worlds and
// clusters, each in a bubble.
var bubbles = []string{"on", "onRKE1", "onRKE2", "onFailing", "onCluster", "onTLS", "onRanchers"}

// inBubbles reports whether the tests of a file are in such ones.
func inBubbles(f file) (is bool) {
	if !in(f.folder, "internal/migrate", "internal/controller", "internal/observe") {
		return false
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if call, of := n.(*ast.CallExpr); of {
			function, named := call.Fun.(*ast.Ident)
			is = is || named && slices.Contains(bubbles, function.Name)
		}
		return true
	})
	return is
}

// uses lists the functions that a file uses of some packages.
func uses(f file, functions map[string][]string) (used []string) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		s, is := n.(*ast.SelectorExpr)
		if !is {
			return true
		}
		of, is := s.X.(*ast.Ident)
		for imported, names := range functions {
			if is && of.Name == path.Base(imported) && slices.Contains(f.imports, imported) && slices.Contains(names, s.Sel.Name) {
				used = append(used, s.Sel.Name)
			}
		}
		return true
	})
	return used
}
