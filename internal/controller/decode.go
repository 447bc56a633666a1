// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
)

// decoded reads a LeaderMigration. One that is not valid has what identifies it, and of specification and
// status the one that is.
func decoded(raw []byte) (*v1alpha1.LeaderMigration, error) {
	var parts struct {
		Metadata     metav1.ObjectMeta
		Spec, Status json.RawMessage
	}
	err := json.Unmarshal(raw, &parts)
	lm := &v1alpha1.LeaderMigration{ObjectMeta: parts.Metadata}
	if wrong := part(parts.Spec, &lm.Spec); wrong != nil {
		err = errors.Join(err, fmt.Errorf("spec: %w; correct the value", wrong))
	}
	if wrong := part(parts.Status, &lm.Status); wrong != nil {
		err = errors.Join(err, fmt.Errorf("status: %w; delete the LeaderMigration, and create another one", wrong))
	}
	return lm, err
}

// part reads all of a part of an object, or nothing.
func part[T any](raw json.RawMessage, into *T) (err error) {
	if len(raw) > 0 {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		*into = *new(T)
	}
	return err
}

// digestOf identifies what cannot be changed of a specification: API servers below 1.25 do not prevent it.
func digestOf(s v1alpha1.LeaderMigrationSpec) string {
	s.Timeout, s.Pause, s.MaxUnavailable, s.MaxFailures, s.Window, s.Approval, s.RollbackOnFailure = nil, false, 0, 0, nil, "", false
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error() // its options came as JSON
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
