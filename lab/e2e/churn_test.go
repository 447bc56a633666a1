// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"
)

// busy makes Services all along, until the function that it returns is called.
func (c *managed) busy() (stop func()) {
	c.Helper()
	if err := c.service(c.Context(), "first"); err != nil {
		c.Fatal(err)
	}
	c.served()
	every := 2 * time.Second // whoever takes over looks at all of them again, one by one
	if soaks() {
		every = 15 * time.Second
	}
	return c.traffic(every)
}
