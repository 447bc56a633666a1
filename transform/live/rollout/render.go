// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"reflect"
	"slices"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// promised is what the stages change of a machine, and Rancher renders as it is: keys, and
// the arguments whose last occurrence counts.
var promised = stages.Promised()

// cloudConfig is rendered as the path of a file that holds it.
const cloudConfig = "cloud-provider-config"

// lacks says in what a rendered configuration differs from the effective one of its
// machine, or "". Rancher adds arguments of its own, so lists are compared by
// what was requested and by the flags of the migration. No value is quoted.
func lacks(rendered, effective map[string]any) string {
	if rendered == nil {
		return "it holds no configuration"
	}
	for _, key := range promised.Keys {
		if !same(effective[key], rendered[key]) {
			return key
		}
	}
	if (full(effective[cloudConfig]) == nil) != (full(rendered[cloudConfig]) == nil) {
		return cloudConfig
	}
	for _, key := range promised.Arguments {
		if flag := lacksFlag(args.Of(rendered[key]), args.Of(effective[key])); flag != "" {
			return key + " " + flag
		}
	}
	return ""
}

// lacksFlag names the first flag of the migration that is not as it should be, or
// the first other one that is missing.
func lacksFlag(rendered, wanted []args.Arg) string {
	for _, flag := range promised.Flags {
		is, has := args.Last(rendered, flag)
		want, wants := args.Last(wanted, flag)
		if has != wants || has && is.Value != want.Value {
			return flag
		}
	}
	for _, w := range wanted {
		if !slices.ContainsFunc(rendered, func(r args.Arg) bool { return r.Name == w.Name && r.Value == w.Value }) {
			return w.Name
		}
	}
	return ""
}

// same compares decoded JSON. What is absent, null and empty are the same: Rancher's
// types leave all three out.
func same(a, b any) bool { return reflect.DeepEqual(full(a), full(b)) }

// full returns decoded JSON without what is null or empty; nil if that is all.
func full(v any) any {
	switch v := v.(type) {
	case string:
		if v != "" {
			return v
		}
	case map[string]any:
		left := map[string]any{}
		for key, inner := range v {
			if inner = full(inner); inner != nil {
				left[key] = inner
			}
		}
		if len(left) > 0 {
			return left
		}
	case []any:
		if len(v) > 0 {
			return lists.Map(v, full)
		}
	default:
		return v
	}
	return nil
}
