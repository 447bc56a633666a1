// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"path/filepath"
	"strings"
)

// Tool builds rke-lm into a folder and returns its path.
func Tool(ctx context.Context, into string) (string, error) {
	root, err := goTool(ctx, ".", "list", "-m", "-f", "{{.Dir}}", "github.com/rke-lm/rke-lm")
	if err != nil {
		return "", err
	}
	file := filepath.Join(into, "rke-lm")
	_, err = goTool(ctx, strings.TrimSpace(root), "build", "-o", file, "./cmd/rke-lm")
	return file, err
}
