// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// beside reads the documents that a cluster depends on, from its own file and those
// in the same folder. What cannot be read is not there; standard input and a Rancher
// have no folder.
func (o *options) beside(f found, d transform.Dependent) []*yamledit.Document {
	if f.live != nil || f.source.Name == yamledit.Stdin {
		return nil
	}
	var paths []string
	for _, form := range []string{"*.yaml", "*.yml", "*.json"} {
		list, _ := filepath.Glob(filepath.Join(filepath.Dir(f.source.Name), form))
		paths = append(paths, list...)
	}
	sources, _ := source.Find(append(paths, f.source.Name), nil)
	var docs []*yamledit.Document
	for _, s := range sources {
		_, _ = s.Scan(d.Beside, func(c yamledit.Chunk) error {
			if doc, err := transform.Parse(c); err == nil {
				docs = append(docs, doc)
			}
			return nil
		})
	}
	return docs
}
