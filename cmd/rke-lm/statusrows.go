// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"

	outputs "github.com/rke-lm/rke-lm/internal/report"
)

// rows are the clusters of status in their order. The text of one Rancher is written as each is
// known; everything else together, once the widest value of each column is known.
type rows struct {
	mu    sync.Mutex
	table *outputs.StatusTable // that was begun; nil for none
	begin func(known []outputs.Status) *outputs.StatusTable
	ended bool
}

// known begins the table of clusters with these names and LeaderMigrations.
func (r *rows) known(list []outputs.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begin != nil && !r.ended {
		r.table = r.begin(list)
	}
}

// add writes clusters, and reports false if they are written together, or if it is too late.
func (r *rows) add(list ...outputs.Status) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.table == nil || r.ended {
		return false
	}
	for _, s := range list {
		r.table.Add(s)
	}
	return true
}

// end writes the last clusters, and reports whether a table was begun for them.
func (r *rows) end(last []outputs.Status) bool {
	written := r.add(last...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	return written
}
