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
	"github.com/rke-lm/rke-lm/transform/forms"
	"github.com/rke-lm/rke-lm/transform/kustomize"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// ending is the end of a source, with the error of the source as a whole. A named one without a cluster has its form too,
// if there is one.
func (f Finder) ending(of *file, met bool, first error) Result {
	end := of.end()
	if of.err != nil || !of.Named || met {
		return end
	}
	if d, has := lists.Find(of.docs, func(d *document) bool { return d.form.Line > 0 }); has {
		end.Form = d.form
	}
	end.Err = f.nothing(of, first, end.Form)
	return end
}

// none reports that the paths hold no cluster.
func (f Finder) none(sources []source.Source) error {
	for _, s := range sources {
		if err := kustomization(s); err != nil {
			return err
		}
	}
	return transform.NewError(transform.ExitRefused, "no cluster was found; name a file that holds "+f.Expected())
}

// kustomization refuses a kustomization, which makes clusters of other files.
func kustomization(s source.Source) error {
	if !slices.Contains(kustomize.FileNames(), filepath.Base(s.Path)) {
		return nil
	}
	return refused("%s: a kustomization, not a cluster; plan its output: %s", s.Name, kustomize.Rendered(filepath.Dir(s.Path)))
}

// nothing reports why a named file has no cluster to work on.
func (f Finder) nothing(in *file, first error, form forms.Found) error {
	switch _, known := errors.AsType[*transform.Refused](first); {
	case form.Line > 0 && (!known || form.Form.Name != forms.Keys.Name):
		return refused("%s:%d: %s, which is not read; %s", in.Name, form.Line, form.Form.Name, form.Form.Fix)
	case first != nil && (known || !forms.Foreign(in.Name)):
		return first
	case kustomization(in.Source) != nil:
		return kustomization(in.Source)
	case in.empty:
		return refused("%s: the file is empty; name a file that holds %s", in.Name, f.Expected())
	}
	return refused("%s: no cluster in it; name a file that holds %s", in.Name, f.Expected())
}

func refused(format string, args ...any) error {
	return transform.NewError(transform.ExitRefused, fmt.Sprintf(format, args...))
}
