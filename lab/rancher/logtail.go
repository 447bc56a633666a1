// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"fmt"
	"strings"

	"github.com/rke-lm/rke-lm/lab/cluster"
)

// LogTail describes for people why a scenario may have failed: what keeps clusters from following, what helm
// said last where it failed, and what the programs of all clusters said.
func (s *Server) LogTail() string {
	var b strings.Builder
	show := func(name string, c *cluster.Cluster) { fmt.Fprintf(&b, "=== cluster %s\n%s", name, c.LogTail()) }
	for _, d := range s.Downstreams() {
		show(d.ID, d.Cluster)
		if err := s.Fault(d.ID); err != nil {
			fmt.Fprintf(&b, "--- it does not follow: %v\n", err)
		}
	}
	show(localName, s.Local)
	if s.published != nil && s.published.webhook != nil {
		fmt.Fprintf(&b, "=== rancher-webhook\n%s\n", s.published.webhook.LogTail())
	}
	if err := s.helm.Fault(); err != nil {
		fmt.Fprintf(&b, "=== %v\n", err)
	}
	return b.String()
}
