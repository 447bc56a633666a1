// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

const guardedCluster = "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: NAME, namespace: fleet-default, annotations: {note: NOTE}}\n" +
	"spec:\n  kubernetesVersion: v1.26.15+rke2r1\n  rkeConfig:\n    machineGlobalConfig: {cloud-provider-name: aws}\n" +
	"    machinePools: [{name: a, controlPlaneRole: true, etcdRole: true, workerRole: true, quantity: 1}]\n"

// folderOfClusters writes one cluster that is as it should be after each of the
// notes.
func folderOfClusters(t *testing.T, notes ...string) string {
	t.Helper()
	folder := t.TempDir()
	for i, note := range notes {
		for _, c := range []struct{ name, note string }{{string(rune('a'+i)) + "-odd", note}, {string(rune('a'+i)) + "-usual", "none"}} {
			text := strings.NewReplacer("NAME", c.name, "NOTE", c.note).Replace(guardedCluster)
			putFile(t, filepath.Join(folder, c.name+".yaml"), text)
		}
	}
	return folder
}

func TestAHostileDocumentDoesNotEndTheRunOverAFolder(t *testing.T) {
	folder := folderOfClusters(t, `"a\u2028\nb"`, strings.Repeat("[", 9998)+strings.Repeat("]", 9998))
	for _, verb := range []string{"plan", "lint", "explain"} {
		r := runHere(t, "", verb, folder)
		assert.Truef(t, r.code == exitcode.Input || r.code == exitcode.Found, "%s: exit %d: %s", verb, r.code, r.stderr)
		for _, name := range []string{"a-odd", "a-usual", "b-usual"} {
			assert.Truef(t, strings.Contains(r.stdout, name), "%s says nothing about %s:\n%s%s", verb, name, r.stdout, r.stderr)
		}
		assert.Contains(t, r.stdout+r.stderr, "b-odd.yaml:3: more than 250 mappings and lists are nested here", verb, r.stderr)
	}
}
