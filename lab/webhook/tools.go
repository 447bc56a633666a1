// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools names the package that the lab builds from this module's requirements.
package tools

import _ "github.com/rancher/webhook"
