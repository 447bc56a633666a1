// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestASnapshotIsRequestedByItsNumber(t *testing.T) {
	for text, want := range map[string]int64{
		`{"spec":{"rkeConfig":{"a":1}}}`:                                 1,
		`{"spec":{"rkeConfig":{"etcdSnapshotCreate":null}}}`:             1,
		`{"spec":{"rkeConfig":{"etcdSnapshotCreate":{}}}}`:               1,
		`{"spec":{"rkeConfig":{"etcdSnapshotCreate":{"generation":4}}}}`: 5,
	} {
		after, number, err := askForSnapshot(parse(t, text))
		assert.Must(t, err == nil && number == want, text, number, err)
		_, again, err := askForSnapshot(after)
		assert.True(t, err == nil && again == want+1, again, err)
		n, _ := after.Root().Get("spec", "rkeConfig", "etcdSnapshotCreate", "generation").Value().(float64)
		assert.True(t, int64(n) == want, after.Bytes())
	}
	_, _, err := askForSnapshot(parse(t, `{"spec":{"rkeConfig":{"etcdSnapshotCreate":{"generation":"four"}}}}`))
	assert.True(t, err != nil, "a number that is none")
}
