// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

// EndStateExternal is the end state in which the provider's name is external.
const EndStateExternal = "external"

// Target is what the operator chose.
type Target struct {
	// EndState is EndStateExternal; "" stands for it too, but only a choice that
	// was spelled out acknowledges that nodes may be renamed.
	EndState string
	// AssumeVersion stands in for a version that a file does not state.
	AssumeVersion string
	// Accept lists the rules whose errors are acknowledged.
	Accept []string
}
