// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"sync"

	"github.com/rke-lm/rke-lm/internal/kubeapi"
)

// atOnce keeps many requests quick without a storm of them.
const atOnce = 8

// forEach calls do with 0 to n-1, a few at the same time, and joins their errors.
func forEach(n int, do func(i int) error) error {
	errs := make([]error, n)
	places := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			errs[i] = do(i)
		})
	}
	all.Wait()
	return kubeapi.Joined(errs)
}
