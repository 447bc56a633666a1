// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import "sync"

// AtOnce keeps many requests quick without a storm of them.
const AtOnce = 8

// ForEach calls do with 0 to n-1, AtOnce of them at the same time, and joins their errors.
func ForEach(n int, do func(i int) error) error {
	errs := make([]error, n)
	places := make(chan struct{}, AtOnce)
	var all sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			errs[i] = do(i)
		})
	}
	all.Wait()
	return Joined(errs)
}
