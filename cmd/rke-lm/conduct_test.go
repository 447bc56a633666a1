// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	outputs "github.com/rke-lm/rke-lm/internal/report"
)

func logged(t *testing.T) func(outputs.RunEvent) {
	text := &outputs.RunText{Out: t.Output(), Err: t.Output()}
	return text.Write
}

func TestMigrateTakesAClusterThroughAllStages(t *testing.T) {
	w := newWorld(t)
	if err := w.run(t, "one", logged(t)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Log(w.writes)
	t.Log(w.spec(t))
}
