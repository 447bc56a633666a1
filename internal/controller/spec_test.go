// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
)

// An API server that does not check the rules of the definition takes any duration.
func TestDurationsAreAtMostAYear(t *testing.T) {
	for length, wrong := range map[time.Duration]bool{year: false, year + time.Second: true} {
		long := &metav1.Duration{Duration: length}
		for want, spec := range map[string]v1alpha1.LeaderMigrationSpec{
			"spec.timeout: longer than a year":                         {Timeout: long},
			"spec.waves: the soak of canaries is longer than a year; ": {Waves: []v1alpha1.Wave{{Name: "canaries", Soak: long}}},
		} {
			_, err := policyOf(&v1alpha1.LeaderMigration{Spec: spec}, "", nil)
			assert.Truef(t, wrong == (err != nil) && (err == nil || strings.HasPrefix(err.Error(), want)), "%s: %v", length, err)
		}
	}
}
