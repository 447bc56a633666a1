// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// podWith returns what kubectl prints for a kube-controller-manager that is given
// each snippet: as an argument, in a variable, and in an annotation.
func podWith(snippets []string) string {
	command := []string{"kube-controller-manager", "--cloud-provider=aws", "--enable-leader-migration=true"}
	var env []map[string]string
	notes := map[string]string{}
	for i, s := range snippets {
		command = append(command, fmt.Sprintf("--note-%d=%s", i, s), s)
		env = append(env, map[string]string{"name": fmt.Sprintf("NOTE_%d", i), "value": s})
		notes[fmt.Sprintf("example.com/note-%d", i)] = s
	}
	pod := map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": "kube-controller-manager-north", "namespace": "kube-system", "uid": "5d0c6a44-2b17-4f4e-8f53-9c2b7f0f1d62",
			"labels": map[string]string{"component": "kube-controller-manager"}, "annotations": notes,
		},
		"spec": map[string]any{"nodeName": "north", "containers": []any{map[string]any{
			"name": "kube-controller-manager", "image": "registry.k8s.io/kube-controller-manager:v1.26.15", "command": command, "env": env,
		}}},
		"status": map[string]any{"phase": "Running", "containerStatuses": []any{map[string]any{"name": "kube-controller-manager", "ready": true, "state": map[string]any{"running": map[string]any{}}}}},
	}
	text, _ := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{pod}})
	return string(text) + "\n"
}

// TestNoVerdictShowsOneOfManySecrets reads them off a live cluster's pod, and looks at
// the dump that others are sent as well.
func TestNoVerdictShowsOneOfManySecrets(t *testing.T) {
	snippets, p := manySecrets()
	folder := t.TempDir()
	from, dump := filepath.Join(folder, "pods.json"), filepath.Join(folder, "dump.yaml")
	if err := os.WriteFile(from, []byte(podWith(snippets)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify"}, {"verify", "-o", "json"}, {"verify", "-o", "html"}, {"verify", "--stage", "install-ccm"}, {"verify", "--dump", dump}} {
		p.run(t, "", append(args, "--from", from))
	}
	text, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) < len(snippets) {
		t.Errorf("the dump has %d bytes and no arguments", len(text))
	}
	p.requireNone(t, string(text), "the dump")
}
