// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import "testing"

func TestFlagsOfComponents(t *testing.T) {
	for _, c := range []struct {
		component, name, version string
		has                      bool
		last                     int
		sure                     bool
	}{
		{"kubelet", "cloud-config", "v1.33.3+rke2r1", true, 33, true},
		{"kubelet", "cloud-config", "v1.34.1+rke2r1", false, 33, true},
		{"kubelet", "cloud-config", "v1.99.0", false, 33, false},
		{"kubelet", "cloud-provider", "v1.99.0", true, 36, false},
		{"kube-apiserver", "cloud-provider", "v1.32.9", true, 32, true},
		{"kube-apiserver", "cloud-provider", "v1.33.0", false, 32, true},
		{"kube-controller-manager", "enable-leader-migration", "v1.22.17", true, 36, true},
		{"kube-proxy", "proxy-mode", "v1.26.15", true, 36, true},
		{"kube-scheduler", "profilling", "v1.26.15", false, 0, true},
		{"kubelet", "docker-endpoint", "v1.23.17", true, 23, true},
		{"kubelet", "docker-endpoint", "v1.24.17", false, 23, true},
		{Gates, "CSIMigrationAWS", "v1.27.16", false, 26, true},
		{Gates, "AllAlpha", "v1.27.16", true, 36, true},
		{"cloud-controller-manager", "anything", "v1.27.16", true, 0, false},
		{"kubelet", "anything", "v1.21.0", true, 0, false},
		{"kubelet", "anything", "", true, 0, false},
	} {
		if has, last, sure := FlagOf(c.component, c.name, c.version); has != c.has || last != c.last || sure != c.sure {
			t.Errorf("%s --%s at %s: %v, %d, %v", c.component, c.name, c.version, has, last, sure)
		}
	}
}
