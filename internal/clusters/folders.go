// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"path/filepath"
	"slices"
	"strconv"

	"github.com/rke-lm/rke-lm/internal/source"
)

// Folders reports which sources of a run are in one folder. A stream is one by itself.
type Folders struct {
	of   []string // by source
	last map[string]int
}

// NewFolders takes the sources in the order in which they are read. Those of
// one cluster are together, wherever they are.
func NewFolders(sources []source.Source, together bool) Folders {
	f := Folders{last: map[string]int{}}
	together = together || slices.ContainsFunc(sources, func(s source.Source) bool { return s.Values })
	for i, s := range sources {
		folder := "stream " + strconv.Itoa(i)
		if path, err := s.Absolute(); err == nil && path != "" {
			folder = filepath.Dir(path)
		}
		if together {
			folder = ""
		}
		f.of = append(f.of, folder)
		f.last[folder] = i
	}
	return f
}

// Of names the folder of source i.
func (f Folders) Of(i int) string { return f.of[i] }

// Ends reports whether source i is the last one of its folder.
func (f Folders) Ends(i int) bool { return f.last[f.of[i]] == i }
