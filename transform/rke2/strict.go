// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"errors"
	"fmt"

	provv1 "github.com/rancher/rancher/pkg/apis/provisioning.cattle.io/v1"
	sjson "sigs.k8s.io/json"

	"github.com/rke-lm/rke-lm/transform"
)

// strictness is what decoding into Rancher's own type finds in a document, or
// that it does not decode.
type strictness struct {
	fields transform.StrictErrors
	err    error
}

// allows fails when decoding the successor finds a field that was not there
// before, or finds one more often.
func (s strictness) allows(after strictness) error {
	if err := errors.Join(s.err, after.err); err != nil {
		return fmt.Errorf("it does not decode as a Cluster of provisioning.cattle.io/v1")
	}
	return after.fields.Worse(s.fields)
}

// decodeStrict decodes a document, and counts what is said about fields.
func decodeStrict(text []byte) (c provv1.Cluster, s strictness) {
	fields, err := sjson.UnmarshalStrict(text, &c)
	s = strictness{fields: transform.StrictErrors{}, err: err}
	for _, f := range fields {
		s.fields.Add(f.Error())
	}
	return c, s
}
