// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"

	sjson "sigs.k8s.io/json"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// NewFields fails when strict decoding into a type finds an unknown or duplicate
// field that was not there before, or finds one more often. what names the type.
func NewFields[T any](before, after yamledit.Node, what string) error {
	old, err := strict[T](before, what)
	if err != nil {
		return err
	}
	now, err := strict[T](after, what)
	if err != nil {
		return err
	}
	return now.Worse(old)
}

func strict[T any](root yamledit.Node, what string) (transform.StrictErrors, error) {
	text, err := json.Marshal(root.Value())
	if err != nil {
		return nil, err
	}
	var v T
	fields, err := sjson.UnmarshalStrict(text, &v)
	if err != nil {
		return nil, fmt.Errorf("it does not decode as %s", what)
	}
	found := transform.StrictErrors{}
	for _, f := range fields {
		found.Add(f.Error())
	}
	return found, nil
}
