// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
)

// Tool builds rke-lm itself, as it is now, into a file.
func Tool(ctx context.Context, file string, flags ...string) error {
	root, err := goTool(ctx, ".", "list", "-m", "-f", "{{.Dir}}", "github.com/rke-lm/rke-lm")
	if err != nil {
		return err
	}
	if file, err = filepath.Abs(file); err != nil {
		return err
	}
	_, err = goTool(ctx, strings.TrimSpace(root), slices.Concat([]string{"build"}, flags, []string{"-o", file, "./cmd/rke-lm"})...)
	return err
}
