// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

// Restart is a process that a stage restarts, in the order in which that happens.
type Restart struct {
	Process string   `json:"process"` // with what restarts inside of it
	Classes []string `json:"classes"` // of machines, or what people call them
	Order   string   `json:"order"`   // of the machines among each other
}

// Restarts returns what the edit of the step restarts once it is rolled out.
func (s PlannedStage) Restarts() []Restart {
	if s.result == nil {
		return nil
	}
	return s.before.Restarts(s.result.Cluster)
}
