// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package leadermigration

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func bundleIn(t *testing.T, text string) Bundle {
	t.Helper()
	doc := assert.Value(yamledit.ParseString("c.yaml", text))(t)
	return Bundle{Holder: doc.Root(), Key: "manifests", Lease: Lease}
}

// edited applies what a function queues.
func edited(t *testing.T, b Bundle, queue func(*yamledit.Edit)) (Bundle, error) {
	t.Helper()
	e := b.Holder.Document().Edit()
	queue(e)
	if err := e.Err(); err != nil {
		return b, err
	}
	doc, _, err := e.Apply()
	assert.NilError(t, err)
	return Bundle{Holder: doc.Root(), Key: b.Key, Lease: b.Lease}, nil
}

// revoking queues that a grant is taken out.
func revoking(b Bundle, target transform.Target) func(*yamledit.Edit) {
	return func(e *yamledit.Edit) { transform.Reversed(e, target, b.Revoke) }
}

func TestTheGrantIsAddedOnceAndTakenOutAgain(t *testing.T) {
	for name, text := range map[string]string{
		"after others":  "manifests: |-\n  kind: A\n  ---\n  kind: B\nrest: 1\n",
		"with comments": "manifests: |\n  # of A\n  kind: A # here\nrest: 1\n",
	} {
		b := bundleIn(t, text)
		granted := assert.Value(edited(t, b, b.Grant))(t)
		assert.NilError(t, granted.CheckGrant())
		assert.NilError(t, granted.CheckGranted())
		again, err := edited(t, granted, granted.Grant)
		assert.Truef(t, err == nil && string(again.Holder.Document().Bytes()) == string(granted.Holder.Document().Bytes()), "%s: granted twice, %v", name, err)
		back, err := edited(t, granted, revoking(granted, transform.Target{}))
		assert.Truef(t, err == nil && yamledit.Same(back.Holder.Value(), bundleIn(t, text).Holder.Value()), "%s: %v\n%s", name, err, back.Holder.Document().Bytes())
	}
}

func TestARevokedGrantThatWasAloneIsUndetermined(t *testing.T) {
	b := bundleIn(t, "manifests: |-\n  "+strings.ReplaceAll(strings.TrimSpace(Grant(Lease)), "\n", "\n  ")+"\nrest: 1\n")
	assert.Error(edited(t, b, revoking(b, transform.Target{})))(t, "either absent or empty")
	removed, err := edited(t, b, revoking(b, transform.Target{CanonicalForm: true}))
	assert.True(t, err == nil && !removed.At().Exists(), err)
}

func TestAnotherRoleOfTheNameIsNotTouched(t *testing.T) {
	b := bundleIn(t, "manifests: |-\n  kind: Role\n  metadata: {name: cloud-provider-extraction-migration, namespace: kube-system}\n")
	for what, queue := range map[string]func(*yamledit.Edit){
		"does not permit":            b.Grant,
		"may have another purpose":   revoking(b, transform.Target{}),
		"would not permit":           func(e *yamledit.Edit) { e.Fail(b.CheckGrant()) },
		"would not run":              func(e *yamledit.Edit) { e.Fail(b.CheckGranted()) },
		"manifests: not a string; w": func(e *yamledit.Edit) { bundleIn(t, "manifests: [a]\n").Grant(e) },
	} {
		assert.Error(edited(t, b, queue))(t, what)
	}
}
