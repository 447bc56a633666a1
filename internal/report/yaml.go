// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"io"

	"sigs.k8s.io/yaml"
)

// WriteYAML writes a value for programs, with the fields of its JSON.
func WriteYAML(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	// A reader of YAML refuses control characters, some of which JSON leaves as they are.
	b, err := yaml.JSONToYAML(EscapeText(text))
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}
