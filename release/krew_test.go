// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKrewInstallsThePlugin lets krew itself read the manifest, load the archive from the
// address in it, check it, and install it.
func TestKrewInstallsThePlugin(t *testing.T) {
	bin := t.TempDir()
	output(t, exec.Command("go", "build", "-o", bin, "sigs.k8s.io/krew/cmd/krew"))
	root, home := t.TempDir(), t.TempDir()
	krew := exec.Command(filepath.Join(bin, "krew"), "install", "--manifest="+filepath.Join(made, plugin+".yaml"))
	krew.Env = append(os.Environ(), "KREW_ROOT="+root, "HOME="+home, "KREW_NO_UPGRADE_CHECK=1")
	output(t, krew)
	installed := filepath.Join(root, "bin", "kubectl-leader_migration")
	if printed := output(t, exec.Command(installed, "version")); !strings.HasPrefix(printed, "rke-lm "+version+" (") {
		t.Errorf("it prints %q", printed)
	}
	if printed := output(t, exec.Command(installed, "plan", "--help")); !strings.Contains(printed, "\n  kubectl leader-migration plan PATH... [flags]\n") {
		t.Errorf("its usage is\n%s", printed)
	}
}

func TestTheManifestHasTheChecksumsOfTheArchives(t *testing.T) {
	manifest, r := string(content(t, plugin+".yaml")), release{version: version}
	for _, p := range platforms(t) {
		suffix := ".tar.gz"
		if p.os == "windows" {
			suffix = ".zip"
		}
		name := r.name(p, suffix)
		for _, want := range []string{"sha256: " + files(t, made)[name], "uri: " + served + "/" + name} {
			if !strings.Contains(manifest, want) {
				t.Errorf("%q is not in\n%s", want, manifest)
			}
		}
	}
}
