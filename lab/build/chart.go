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

const chartModule = "k8s.io/cloud-provider-aws"

// charts are the chart in the versions that plans install, for clusters up to 1.27 and later ones: the release
// of the module that each ships in, and that module's checksum.
var charts = []struct{ release, sum string }{
	{"v1.33.4", "h1:JOAcgSP+W0JqXQJe59pN96HkGBpIyGgtqHtye31u1h8="}, // 0.0.8
	{"v1.37.0", "h1:PlzT2MSdbNq9b4iJTgnl7C3psBGZzSj3Ga8A6FpZS7Y="}, // 0.0.11
}

// Charts returns the folders of the charts, as they were published.
func Charts(ctx context.Context) ([]string, error) {
	var folders []string
	for _, c := range charts {
		folder, err := published(ctx, chartModule+"@"+c.release, c.sum)
		if err != nil {
			return nil, err
		}
		folders = append(folders, folder)
	}
	return folders, nil
}

// published returns the chart's folder in a release of the module.
func published(ctx context.Context, release, sum string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", release)
	// The checksum is the one that is here, so no one else has to be asked.
	cmd.Env = append(os.Environ(), "GONOSUMDB="+chartModule, "GOWORK=off")
	out, err := cmd.Output()
	var module struct{ Dir, Sum, Error string }
	if jerr := json.Unmarshal(out, &module); jerr != nil {
		return "", fmt.Errorf("lab: go mod download %s: %w", release, err)
	}
	switch {
	case module.Error != "":
		return "", fmt.Errorf("lab: %s", strings.TrimSpace(module.Error))
	case module.Sum != sum:
		return "", fmt.Errorf("lab: %s has the checksum %s, not %s", release, module.Sum, sum)
	}
	return filepath.Join(module.Dir, "charts", "aws-cloud-controller-manager"), nil
}
