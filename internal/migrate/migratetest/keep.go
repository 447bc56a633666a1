// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migratetest

import (
	"maps"
	"os"
	"slices"
)

// Keep returns what brings back all that Rancher, the cluster and helm have now: what a process leaves that dies now.
func (w *World) Keep() (back func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var backs []func()
	s := w.API
	s.Do(func() {
		backs = []func(){
			list(&s.Nodes), list(&s.Pods), list(&s.DaemonSets), list(&s.Leases), list(&s.Secrets), table(&s.ConfigMaps), table(&s.Renews),
			list(&w.writes), table(&w.objects), value(&w.replaced), value(&w.lastName), value(&w.lastID), value(&w.budget), value(&w.output),
		}
	})
	backs = append(backs, w.Rancher.Keep(), file(w.Helm), file(w.Helm+valuesSuffix), file(w.Helm+leftSuffix))
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.two = false
		s.Do(func() {
			for _, back := range backs {
				back()
			}
		})
	}
}

func list[T any](at *[]T) func() {
	kept := slices.Clone(*at)
	return func() { *at = slices.Clone(kept) }
}

func table[T any](at *map[string]T) func() {
	kept := maps.Clone(*at)
	return func() { *at = maps.Clone(kept) }
}

func value[T any](at *T) func() {
	kept := *at
	return func() { *at = kept }
}

func file(name string) func() {
	kept, none := os.ReadFile(name)
	return func() {
		if os.Remove(name); none == nil {
			must(0, os.WriteFile(name, kept, 0o600))
		}
	}
}

// TwoOwners reports whether both managers have run the cloud controllers at once since then.
func (w *World) TwoOwners() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.two
}

// Applied are the objects of the cluster that were applied, by their paths.
func (w *World) Applied() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.objects)
}
