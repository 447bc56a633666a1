// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"path"
	"strings"
)

// Image is a reference to an image in its parts: name:tag@digest, of which tag and
// digest may be absent. The name has the registry, which may have a port.
type Image struct{ Name, Tag, Digest string }

// ParseImage reads a reference.
func ParseImage(ref string) (i Image) {
	i.Name, i.Digest, _ = strings.Cut(ref, "@")
	if at := strings.LastIndex(i.Name, ":"); at > strings.LastIndex(i.Name, "/") {
		i.Name, i.Tag = i.Name[:at], i.Name[at+1:]
	}
	return i
}

// Base is the last part of the name.
func (i Image) Base() string { return path.Base(i.Name) }
