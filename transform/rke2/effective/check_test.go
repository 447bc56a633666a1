// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package effective

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestAKeyThatChangesNeedsAPromise(t *testing.T) {
	type config = map[string]any
	var asked []string
	promise := func(class Class, key string, before, after any) bool {
		asked = append(asked, class.Name+" "+key)
		return before == "a" && after == "b"
	}
	for _, c := range []struct {
		name          string
		before, after config
		want          string
		asked         int
	}{
		{"nothing changes", config{"x": "a"}, config{"x": "a"}, "", 0},
		{"equal lists are no change", config{"x": []any{"a"}}, config{"x": []any{"a"}}, "", 0},
		{"as promised", config{"x": "a"}, config{"x": "b"}, "", 1},
		{"another value", config{"x": "a"}, config{"x": "c"}, "x would change on machines of class cp", 1},
		{"a key is gone", config{"x": "a"}, config{}, "x would change on machines of class cp", 1},
		{"a key is new", config{}, config{"x": "b"}, "x would change on machines of class cp", 1},
		{"another type", config{"x": "true"}, config{"x": true}, "x would change on machines of class cp", 1},
		{"a string is not a list", config{"x": "a"}, config{"x": []any{"a"}}, "x would change on machines of class cp", 1},
		{"the order of a list", config{"x": []any{"a", "b"}}, config{"x": []any{"b", "a"}}, "x would change on machines of class cp", 1},
		{"the first key is named", config{"y": "1", "x": "1"}, config{"y": "2", "x": "2"}, "x would change on machines of class cp", 1},
		{"both as promised", config{"y": "a", "x": "a"}, config{"y": "b", "x": "b"}, "", 2},
	} {
		asked = nil
		err := checkClass(Class{Name: "cp"}, c.before, c.after, promise)
		assert.Truef(t, (c.want != "" || err == nil) && (c.want == "" || err != nil && err.Error() == c.want), "%s: got %v, want %q", c.name, err, c.want)
		assert.Equal(t, len(asked), c.asked, "asked for", asked, c.name)
	}
}
