// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"os"
	"slices"
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
		return nil, fmt.Errorf(flag+"%s: is %s, and no file; name the values file", path, kind(info.Mode()))
	case without.Has(path):
		return nil, fmt.Errorf(flag+"%s: --exclude leaves it out; remove one of the two", path)
	}
	others := slices.DeleteFunc(slices.Clone(sources), func(s Source) bool {
		at := s.Absolute()
		return at != "" && realPath(at) == realPath(path)
	})
	return append(others, Source{Name: path, Path: path, Values: true}), nil
}
