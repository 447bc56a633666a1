// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package inlinemanifest

import (
	"fmt"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Finding returns a finding about a node of manifest i, with the path to it from the
// cluster's own root.
func (b Bundle) Finding(i int, n yamledit.Node, message, fix string) transform.Finding {
	f := transform.FindingAt(n, message, fix)
	path := fmt.Sprintf("%s[%d]", b.At().Path(), i)
	if f.Path != "" {
		path += "." + f.Path
	}
	f.Path = path
	return f
}
