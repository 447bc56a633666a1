// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"path/filepath"
	"slices"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/planfolder"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/review"
)

// listedFiles reports the files that a plan.json of the change lists, but for those that the plan of a cluster
// has. Nothing reads them as clusters once the change is merged, so each is made again and compared.
func listedFiles(saved []*clusters.Saved, before, after []*review.Side) (found []transform.Finding) {
	type planned struct {
		*review.Side
		folder string
	}
	made := map[planned][]planfolder.File{}
	for _, file := range saved {
		of := func(s *review.Side) bool { return s.Identity().Is(file.Plan.Cluster) }
		has := func(s *review.Side) bool {
			key := planned{s, filepath.Dir(file.Name)}
			if _, is := made[key]; !is && of(s) {
				made[key] = filesOf(s, file.Plan.Target)
			}
			return slices.ContainsFunc(made[key], func(f planfolder.File) bool {
				return f.Name == filepath.Base(file.Name) && bytes.Equal(f.Content, file.Bytes)
			})
		}
		if !slices.ContainsFunc(after, of) || !slices.ContainsFunc(slices.Concat(after, before), has) {
			found = append(found, review.Listed(file.Name, file.Plan.Cluster)...)
		}
	}
	return found
}

// filesOf are the files of all plans of a cluster; none if it cannot be planned.
func filesOf(s *review.Side, target transform.Target) (all []planfolder.File) {
	target.Related = s.Related
	_ = transform.Guard(s.Docs[0].File(), func() error {
		plans, err := transform.Sequence(s.Distro, s.Docs, target)
		if err != nil {
			return err
		}
		for _, p := range plans {
			n := len(p.Start)
			files, err := planFiles(p, outputs.NewPlan(p, ""), "", make([]string, n), clusters.Cluster{Sources: make([]source.Source, n)}, nil)
			if err != nil {
				return err
			}
			all = append(all, files...)
		}
		return nil
	})
	return all
}
