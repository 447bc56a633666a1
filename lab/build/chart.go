// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// ChartValues returns the default values of the aws-cloud-controller-manager's chart, as its own module
// ships it: the rights that the manager gets when a cluster states none.
func ChartValues(ctx context.Context) ([]byte, error) {
	dir, err := managers["v1.26"].dir(ctx)
	if err != nil {
		return nil, err
	}
	// A fresh clone may have the program in its cache and not the module.
	if _, err := goTool(ctx, dir, "mod", "download", "k8s.io/cloud-provider-aws"); err != nil {
		return nil, err
	}
	module, err := goTool(ctx, dir, "list", "-m", "-f", "{{.Dir}}", "k8s.io/cloud-provider-aws")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(strings.TrimSpace(module), "charts", "aws-cloud-controller-manager", "values.yaml"))
}
