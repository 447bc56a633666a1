// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
)

// BenchmarkObserve reads a cluster of 5,000 nodes, with as many images as a kubelet reports; the server answers in the same
// process, so its work counts as well.
func BenchmarkObserve(b *testing.B) {
	s := apitest.Start(b)
	s.Fill(5000)
	var images []corev1.ContainerImage
	for k := range 40 {
		images = append(images, corev1.ContainerImage{Names: []string{fmt.Sprintf("registry.example.org/team-%d/service-%d@sha256:%064x", k%7, k, k), fmt.Sprintf("registry.example.org/team-%d/service-%d:v1.%d.0", k%7, k, k)}})
	}
	for i := range s.Nodes {
		s.Nodes[i].Status.Images = images
	}
	ob := observer(b, s, 10*time.Second)
	b.ReportAllocs()
	for b.Loop() {
		o, err := ob.Observe(b.Context())
		assert.Must(b, err == nil && len(o.Nodes) == 5000, err)
	}
	b.ReportMetric(float64(s.Count(""))/float64(b.N), "requests/op")
}
