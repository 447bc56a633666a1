// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools names the command that the lab builds from this module, so that go.sum knows all that it
// needs.
package tools

import _ "github.com/mikefarah/yq/v4"
