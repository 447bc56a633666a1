// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

// same compares decoded JSON. What is absent, null and empty are the same: Rancher's
// types leave all three out.
func same(a, b any) bool {
	if empty(a) || empty(b) {
		return empty(a) && empty(b)
	}
	switch a := a.(type) {
	case map[string]any:
		b, is := b.(map[string]any)
		return is && covers(b, a) && covers(a, b)
	case []any:
		b, is := b.([]any)
		if !is || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		for _, inner := range v {
			if !empty(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return false
}

// covers reports whether a mapping has all that another one has.
func covers(whole, part map[string]any) bool {
	for key, v := range part {
		if !same(v, whole[key]) {
			return false
		}
	}
	return true
}
