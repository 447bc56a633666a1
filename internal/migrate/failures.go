// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import "github.com/rke-lm/rke-lm/transform/live/rollout"

// failures are what was said of machines whose plans fail, by their names.
type failures map[string]string

// note says a failure once, and again when a later try prints something else: what
// is waited for is drawn over, and the reason has to stay.
func (f failures) note(machines []rollout.MachineProgress, say func(string)) {
	for _, m := range machines {
		if m.Failures == 0 {
			delete(f, m.Name)
			continue
		}
		if before, told := f[m.Name]; !told || before != m.Output {
			f[m.Name] = m.Output
			say(m.Failure())
		}
	}
}
