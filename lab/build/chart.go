// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
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
	if _, err := goTool(ctx, dir, "mod", "download", chartModule); err != nil {
		return nil, err
	}
	module, err := goTool(ctx, dir, "list", "-m", "-f", "{{.Dir}}", chartModule)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(strings.TrimSpace(module), "charts", "aws-cloud-controller-manager", "values.yaml"))
}

// The chart that the plans install, the release of the module that it ships in, and that module's checksum.
const (
	ChartVersion = "0.0.8"
	chartModule  = "k8s.io/cloud-provider-aws"
	chartRelease = chartModule + "@v1.33.4"
	chartSum     = "h1:JOAcgSP+W0JqXQJe59pN96HkGBpIyGgtqHtye31u1h8="
)

// Chart returns the folder of the chart, as it was published.
func Chart(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", chartRelease)
	// The checksum is the one that is here, so no one else has to be asked.
	cmd.Env = append(os.Environ(), "GONOSUMDB="+chartModule, "GOWORK=off")
	out, err := cmd.Output()
	var module struct{ Dir, Sum, Error string }
	if jerr := json.Unmarshal(out, &module); jerr != nil {
		return "", fmt.Errorf("lab: go mod download %s: %w", chartRelease, err)
	}
	switch {
	case module.Error != "":
		return "", fmt.Errorf("lab: %s", strings.TrimSpace(module.Error))
	case module.Sum != chartSum:
		return "", fmt.Errorf("lab: %s has the checksum %s, not %s", chartRelease, module.Sum, chartSum)
	}
	return filepath.Join(module.Dir, "charts", "aws-cloud-controller-manager"), nil
}
