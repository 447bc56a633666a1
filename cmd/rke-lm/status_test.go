// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// contexts is a kubeconfig of so many contexts; those that a server is named for lead
// there, and the others to the usual one.
func contexts(t *testing.T, usual *apitest.Server, count int, others map[int]string) string {
	t.Helper()
	text := "apiVersion: v1\nkind: Config\nusers: [{name: viewer, user: {token: a-token-for-tests}}]\n"
	clusters, list := "clusters:\n", "contexts:\n"
	for i := range count {
		address := usual.URL()
		if other := others[i]; other != "" {
			address = other
		}
		clusters += fmt.Sprintf("- {name: c%02d, cluster: {server: %q}}\n", i, address)
		list += fmt.Sprintf("- {name: c%02d, context: {cluster: c%02d, user: viewer}}\n", i, i)
	}
	file := filepath.Join(t.TempDir(), "config")
	putFile(t, file, text+clusters+list)
	return file
}

func TestStatusOfManyClustersToleratesOneThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := apitest.Start(t)
		s.Fill(3)
		silent := apitest.Start(t)
		silent.Fault = on("/", apitest.Fault{Hang: 10 * time.Minute})
		config := contexts(t, s, 12, map[int]string{3: silent.URL(), 7: "http://127.0.0.1:1"})
		r := runHere(t, "", "status", "--kubeconfig", config)
		lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
		assert.Truef(t, r.code == exitcode.Failed && len(lines) == 13 && strings.Count(r.stdout, "install-ccm") == 10, "exit %d\n%s%s", r.code, r.stdout, r.stderr)
		for i, line := range lines[1:] {
			wrong := i == 3 || i == 7
			assert.True(t, strings.HasPrefix(line, fmt.Sprintf("c%02d ", i)) && wrong == strings.Contains(line, "run the command again"), line)
		}
	})
}
