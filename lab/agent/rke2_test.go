// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"

	"github.com/rke-lm/rke-lm/lab/cluster"
)

func TestAKubeletHasTheProviderOfItsReleaseAndConfiguration(t *testing.T) {
	name := func(name any, more ...any) map[string]any {
		c := map[string]any{"cloud-provider-name": name}
		for i := 0; i < len(more); i += 2 {
			c[more[i].(string)] = more[i+1]
		}
		return c
	}
	arg := []any{"cloud-provider=external"}
	for _, c := range []struct {
		what, version string
		config        map[string]any
		want          cluster.Provider
	}{
		{"in-tree", "v1.26.15", name("aws"), cluster.InTree},
		{"made external by its argument", "v1.26.15", name("aws", "kubelet-arg", arg), cluster.External},
		{"external", "v1.26.15", name("external"), cluster.External},
		{"aws names the node and does nothing else", "v1.34.1", name("aws"), cluster.None},
		{"the same, made external by its argument", "v1.34.1", name("aws", "kubelet-arg", arg), cluster.External},
		{"no name, so RKE2's own cloud controller runs", "v1.34.1", map[string]any{}, cluster.Stub},
		{"no name, and that one is off", "v1.34.1", map[string]any{"disable-cloud-controller": true}, cluster.None},
	} {
		r := &RKE2{cluster: &cluster.Cluster{Version: c.version}}
		if got := r.provider(c.config); got != c.want {
			t.Errorf("%s: %q, and not %q", c.what, got, c.want)
		}
	}
}
