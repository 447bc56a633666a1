// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
)

// given returns the values that layers give to the chart, without those that are
// unknown: mappings are merged, all else is replaced.
func given(layers []Layer) (map[string]any, error) {
	values := map[string]any{}
	for _, l := range layers {
		switch l.Form {
		case Own:
		case Entry:
			if err := l.apply(values); err != nil {
				return nil, err
			}
		default:
			values = overlay(values, runtime.DeepCopyJSON(l.values)) // entries of spec.set change them in place
		}
	}
	return values, nil
}

// overlay puts later values over earlier ones, as Helm merges files of values.
func overlay(early, late map[string]any) map[string]any {
	out := maps.Clone(early)
	if out == nil {
		out = map[string]any{}
	}
	for key, v := range late {
		m, isMap := v.(map[string]any)
		before, wasMap := out[key].(map[string]any)
		if isMap && wasMap {
			out[key] = overlay(before, m)
			continue
		}
		out[key] = v
	}
	return out
}

// coalesce completes values with those of the chart; null takes one away.
func coalesce(values, own map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range own {
		if _, stated := values[key]; !stated {
			out[key] = v
		}
	}
	for key, v := range values {
		standard, known := own[key]
		m, isMap := v.(map[string]any)
		below, wasMap := standard.(map[string]any)
		switch {
		case v == nil && known: // null takes it away
		case isMap && wasMap:
			out[key] = coalesce(m, below)
		default:
			out[key] = v
		}
	}
	return out
}
