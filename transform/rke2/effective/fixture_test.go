// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package effective_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const release = "v1.26.15+rke2r1"

// document returns a cluster of Rancher, whose object is one way to write all that decides; the first line of
// config is line 7.
func document(version, config string) string {
	text := "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: demo, namespace: fleet-default}\nspec:\n  kubernetesVersion: " + version + "\n"
	if config = strings.Trim(config, "\n"); config == "" {
		return text + "  rkeConfig: {}\n"
	}
	return text + "  rkeConfig:\n    " + strings.ReplaceAll(config, "\n", "\n    ") + "\n"
}

func parse(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	return assert.Value(yamledit.ParseString("c.yaml", text))(t)
}

func opened(t *testing.T, version, config string) *rke2.Cluster {
	t.Helper()
	return assert.Value(rke2.Open(parse(t, document(version, config)), transform.Target{}))(t)
}

func names(c *rke2.Cluster) []string {
	return lists.Map(c.Classes, func(class effective.Class) string { return class.Name })
}

func classOf(t *testing.T, c *rke2.Cluster, name string) effective.Class {
	t.Helper()
	class, found := lists.Find(c.Classes, func(class effective.Class) bool { return class.Name == name })
	assert.Mustf(t, found, "no class %s among %v", name, names(c))
	return class
}

func places(nodes ...yamledit.Node) []string {
	return lists.Map(nodes, func(n yamledit.Node) string {
		return fmt.Sprintf("%d %s", n.Line(), strings.TrimPrefix(n.Path(), "spec.rkeConfig."))
	})
}
