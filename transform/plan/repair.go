// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import "github.com/rke-lm/rke-lm/transform"

// mostFixes bounds a repair; no file comes near it.
const mostFixes = 1000

// Repair makes the mechanical fixes of a cluster, one after the other, and names
// the rules of those that it made. Each is proven by its edit, and kept only when
// the cluster can still be read and its rule finds less than before. What no fix
// corrects stays as it is.
func Repair(d transform.Format, c transform.Cluster, target transform.Target) (transform.Cluster, []string) {
	var made []string
	for range mostFixes {
		next, rule := repairOne(d, c, target)
		if next == nil {
			break
		}
		c, made = next, append(made, rule)
	}
	return c, made
}

// repairOne returns the cluster after the first fix that works, or nil.
func repairOne(d transform.Format, c transform.Cluster, target transform.Target) (transform.Cluster, string) {
	f, ok := c.(transform.Fixer)
	if !ok {
		return nil, ""
	}
	before := count(c)
	for _, fix := range f.Fixes() {
		e := c.Documents()[0].Edit()
		fix.Queue(e)
		fixed, err := revise(c.Documents(), e)
		if err != nil {
			continue
		}
		after, _ := d.Lint(Step{Documents: fixed}.After(), target)
		if after != nil && count(after)[fix.Rule] < before[fix.Rule] {
			return after, fix.Rule
		}
	}
	return nil, ""
}

// count returns how often each rule finds something.
func count(c transform.Cluster) map[string]int {
	n := map[string]int{}
	for _, f := range c.Findings("") {
		n[f.Rule]++
	}
	return n
}
