// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"path"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/observation"
)

// Component names the manager that a container runs, or "" for none. RKE2 runs
// kube-controller-manager from an image of all components, so its command tells.
func Component(image string, command []string) string {
	program := ""
	if len(command) > 0 {
		program = path.Base(command[0])
	}
	name, _, _ := strings.Cut(path.Base(image), ":")
	if program == observation.KubeManager || name == observation.KubeManager {
		return observation.KubeManager
	}
	list := make([]args.Arg, len(command))
	for i, a := range command {
		list[i] = args.Parse(a)
	}
	if ccm.IsManager(image, list) {
		return observation.CloudManager
	}
	return ""
}

// ConfigFile returns where a manager has its LeaderMigrationConfiguration, or "".
func ConfigFile(command []string) string {
	i := slices.IndexFunc(command, func(a string) bool { return args.Parse(a).Name == leadermigration.ConfigFlag })
	if i < 0 {
		return ""
	}
	return args.Parse(command[i]).Value
}
