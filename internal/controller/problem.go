// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"slices"

	"github.com/rke-lm/rke-lm/transform/waves"
)

// problem is why nothing can be decided.
type problem struct {
	reason waves.Reason
	err    error
}

// fails reports whether the LeaderMigration has failed, and passes whether the problem can pass while it stays as it is.
func (p *problem) fails() bool {
	return p != nil && slices.Contains([]waves.Reason{invalidSpec, notPermitted, tooMany}, p.reason)
}

func (p *problem) passes() bool {
	return p != nil && slices.Contains([]waves.Reason{notPermitted, notReady, fault}, p.reason)
}

// problemOf is why a LeaderMigration is refused; nil without an error.
func problemOf(err error) *problem {
	denied := (*NotPermitted)(nil)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &denied):
		return &problem{notPermitted, err}
	}
	return &problem{invalidSpec, err}
}

// The reasons of problems.
const (
	invalidSpec   waves.Reason = "InvalidSpec"
	notPermitted  waves.Reason = "NotPermitted"
	tooMany       waves.Reason = "TooManyClusters"
	noClusters    waves.Reason = "NoClusters"
	notReady      waves.Reason = "RancherNotReady"
	fault         waves.Reason = "InternalError"
	progressing   waves.Reason = "Progressing"
	complete      waves.Reason = "Complete"
	tooManyFailed waves.Reason = "TooManyFailures"
	none          waves.Reason = "None"
)
