// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// ClusterAPIManifests returns the definitions of Cluster API's resources and its webhooks, as its module ships
// them.
func ClusterAPIManifests(ctx context.Context) (definitions [][]byte, webhooks []byte, err error) {
	const module = "sigs.k8s.io/cluster-api"
	dir, err := ClusterAPI.dir(ctx)
	if err != nil {
		return nil, nil, err
	}
	// A fresh clone may have the program in its cache and not the module.
	if _, err := goTool(ctx, dir, "mod", "download", module); err != nil {
		return nil, nil, err
	}
	root, err := goTool(ctx, dir, "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return nil, nil, err
	}
	config := filepath.Join(strings.TrimSpace(root), "config")
	files, err := filepath.Glob(filepath.Join(config, "crd", "bases", "*.yaml"))
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		definitions = append(definitions, text)
	}
	webhooks, err = os.ReadFile(filepath.Join(config, "webhook", "manifests.yaml"))
	return definitions, webhooks, err
}
