// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"os"
)

// WithValues marks the source that is the values file at a path, and adds it where none of them is.
// The operator names it, so it is read whatever its name and its place are.
func WithValues(sources []Source, path string, without Excluded) ([]Source, error) {
	const flag = "--ccm-values: "
	info, err := os.Stat(path)
	switch {
	case path == "-":
		return nil, fmt.Errorf(flag + "standard input is no file that helm can read later; name a file")
	case err != nil:
		return nil, fmt.Errorf(flag+"%w", unreadable(path, err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf(flag+"%s: is %s, and no file; name the values file", path, what(info.Mode()))
	case without.Has(path):
		return nil, fmt.Errorf(flag+"%s: --exclude leaves it out; remove one of the two", path)
	}
	return mark(sources, Source{Name: path, Path: path, Values: true}), nil
}

func what(m os.FileMode) string {
	if m.IsDir() {
		return "a folder"
	}
	return kind(m)
}

// mark puts the values file in the place of the source that is the same file.
func mark(sources []Source, values Source) []Source {
	at, _ := values.Absolute()
	var all []Source
	for _, s := range sources {
		if p, err := s.Absolute(); err == nil && p != "" && realPath(p) == realPath(at) {
			continue
		}
		all = append(all, s)
	}
	return append(all, values)
}
