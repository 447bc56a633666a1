// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import "golang.org/x/sync/errgroup"

// AtOnce keeps many requests quick without a storm of them.
const AtOnce = 8

// ForEach calls do with 0 to n-1, AtOnce of them at the same time, and joins their errors.
func ForEach(n int, do func(i int) error) error {
	errs := make([]error, n)
	var all errgroup.Group
	all.SetLimit(AtOnce)
	for i := range n {
		all.Go(func() error {
			errs[i] = do(i)
			return nil // the others continue
		})
	}
	_ = all.Wait()
	return Joined(errs)
}
