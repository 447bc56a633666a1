// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestAReferenceIsReadInItsParts(t *testing.T) {
	for ref, want := range map[string]Image{
		"a/b:v1": {"a/b", "v1", ""}, "host:5000/a": {"host:5000/a", "", ""}, "a:v2@sha256:abc": {"a", "v2", "sha256:abc"}, "a@sha256:abc": {"a", "", "sha256:abc"}, "": {},
	} {
		assert.Equal(t, ParseImage(ref), want, ref)
	}
	assert.Equal(t, ParseImage("host:5000/a/b:v1").Base(), "b")
}
