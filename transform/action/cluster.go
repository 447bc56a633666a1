// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"regexp"
	"strings"
)

// Cluster is how commands reach one cluster: words of a command, or "" for what is not named.
type Cluster struct{ Context, Kubeconfig string }

// ofCluster are the programs that take their cluster from a kubeconfig. A command that names its
// kubeconfig is for another cluster.
var ofCluster = regexp.MustCompile(`(?:^|[\s(;|&])(kubectl|helm|rke-lm verify) (?:--kubeconfig\b)?`)

// In returns a text in which each command names the cluster.
func (c Cluster) In(text string) string {
	if c == (Cluster{}) {
		return text
	}
	return ofCluster.ReplaceAllStringFunc(text, func(command string) string {
		if strings.HasSuffix(command, "--kubeconfig") {
			return command
		}
		context := "--context="
		if strings.HasSuffix(command, "helm ") {
			context = "--kube-context="
		}
		if c.Context != "" {
			command += context + c.Context + " "
		}
		if c.Kubeconfig != "" {
			command += "--kubeconfig=" + c.Kubeconfig + " "
		}
		return command
	})
}
