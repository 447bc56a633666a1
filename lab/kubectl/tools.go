// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools names the commands that the lab builds from this module, so that go.sum knows all that they
// need.
package tools

import (
	_ "github.com/itchyny/gojq/cmd/gojq"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
