// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestALoginIsKeptOnceNoRefreshCanOverwriteIt(t *testing.T) {
	extra := map[string]any{"local": map[string]any{"username": []any{"carol"}}}
	for name, c := range map[string]struct {
		attributes map[string]any
		want       bool
	}{
		"nothing is kept":            {nil, false},
		"no login has left a trace":  {map[string]any{"ExtraByProvider": map[string]any{}, "NeedsRefresh": false}, false},
		"the field is null":          {map[string]any{"ExtraByProvider": nil}, false},
		"a refresh is in progress":   {map[string]any{"ExtraByProvider": extra, "NeedsRefresh": true}, false},
		"the login has left a trace": {map[string]any{"ExtraByProvider": extra, "NeedsRefresh": false}, true},
	} {
		assert.Equal(t, kept(c.attributes), c.want, name)
	}
}
