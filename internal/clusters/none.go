// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/kustomize"
)

// ending returns the error of a source as a whole, after its last document.
func (f Finder) ending(of *file, met bool, first error) error {
	if of.err == nil && of.Named && !met {
		return f.nothing(of, first)
	}
	return of.err
}

// none reports that the paths hold no cluster.
func (f Finder) none(sources []source.Source) error {
	for _, s := range sources {
		if err := kustomization(s); err != nil {
			return err
		}
	}
	return exitcode.New(exitcode.Refused, "no cluster was found; name a file that holds "+f.Expected())
}

// kustomization refuses a kustomization, which makes clusters of other files.
func kustomization(s source.Source) error {
	if !slices.Contains(kustomize.FileNames(), filepath.Base(s.Path)) {
		return nil
	}
	return refused("%s: a kustomization, not a cluster; plan its output: %s", s.Name, kustomize.Rendered(filepath.Dir(s.Path)))
}

// nothing reports why a named file has no cluster to work on.
func (f Finder) nothing(in *file, first error) error {
	form := slices.IndexFunc(in.docs, func(d *document) bool { return d.form.File != "" })
	switch _, known := errors.AsType[*transform.Refused](first); {
	case !known && form >= 0:
		found := in.docs[form].form
		return refused("%s:%d: %s, which is not read; %s", in.Name, found.Line, found.Form.Name, found.Form.Fix)
	case first != nil:
		return first
	case kustomization(in.Source) != nil:
		return kustomization(in.Source)
	case in.empty:
		return refused("%s: the file is empty; name a file that holds %s", in.Name, f.Expected())
	}
	return refused("%s: no cluster in it; name a file that holds %s", in.Name, f.Expected())
}

func refused(format string, args ...any) error {
	return exitcode.New(exitcode.Refused, fmt.Sprintf(format, args...))
}
