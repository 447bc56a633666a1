// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestWhatADocumentForgetsIsWorkedOutAgain(t *testing.T) {
	d := assert.Value(Parse(Chunk{Bytes: []byte("a: 1\n")}))(t)
	found := 0
	ask := func() int {
		return Derive(d, "key", func() int { found++; return found }) + Recall(d, []byte("text"), func() int { found += 10; return found })
	}
	first := ask()
	assert.True(t, ask() == first && found == 11, "a second question works it out again", found)
	d.Forget()
	assert.True(t, ask() != first && found == 22, "it is not forgotten", found)
}
