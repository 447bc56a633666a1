// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// A stage that takes the result of an earlier one away would be written forever.
func TestWhatIsWrittenMustNotBeToDoAgain(t *testing.T) {
	swings := format(func(doc *yamledit.Document) []transform.Stage {
		b := light(doc, "b")
		b.Edit = func() (*yamledit.Edit, error) {
			e := doc.Edit()
			if doc.Root().Get("b").Value() != "on" {
				e.Set(doc.Root().Get("b"), "on")
				e.Set(doc.Root().Get("a"), "off")
			}
			return e, nil
		}
		return []transform.Stage{light(doc, "a"), b}
	})
	p, err := BuildFor(swings, transform.Only(document(t, "a: off\nb: 'off'\n")), transform.Target{}, Choice{Stage: "b", Through: true})
	assert.NilError(t, err)
	assert.ErrorContains(t, StayDone(swings, p.Steps, transform.Target{}), "l.yaml:1: stage a would still be to do after the edit")
	assert.NilError(t, StayDone(swings, p.Steps[1:], transform.Target{})) // stage a was not written
	p, err = Build(format(twoLamps), transform.Only(document(t, "a: off\nb: 'off'\n")), transform.Target{})
	assert.NilError(t, err)
	assert.NilError(t, StayDone(format(twoLamps), p.Steps, transform.Target{}))
}
