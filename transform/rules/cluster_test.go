// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"math"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestAStrategySaysHowManyControlPlanesItRestarts(t *testing.T) {
	doc := assert.Value(yamledit.ParseString("cluster.yaml", "concurrency: many\n"))(t)
	for _, c := range []struct {
		most, all int
		want      string
	}{
		{0, 3, ""}, {1, 3, ""}, {1, 1, ""},
		{2, 3, "RKE restarts up to 2 of the control planes at once"},
		{3, 3, "RKE restarts all of the control planes at once"},
		{5, 3, "RKE restarts all of the control planes at once"},
	} {
		printed := ""
		var found transform.Findings
		ControlPlanesAtOnce.Check(Restart{At: doc.Root().Get("concurrency"), By: "RKE", Most: c.most, All: c.all, Of: "control planes", Key: "k"}, &found)
		for _, f := range found {
			printed += f.Message
			assert.True(t, f.Line == 1 && f.Fix == `set k to "1" for the migration`, f)
		}
		assert.Truef(t, strings.HasPrefix(printed, c.want) && (c.want != "" || printed == ""), "%d of %d: %q", c.most, c.all, printed)
	}
}

func TestAConcurrencyIsANumberOrAPercentage(t *testing.T) {
	for _, c := range []struct {
		value    any
		up, down int
		ok       bool
	}{
		{2, 2, 2, true}, {"2", 2, 2, true}, {"34%", 2, 1, true}, {"33%", 1, 0, true}, {"0", 0, 0, true}, {"many", 0, 0, false}, {nil, 0, 0, false},
	} {
		up, ok := Concurrency(c.value, 3, math.Ceil)
		down, _ := Concurrency(c.value, 3, math.Floor)
		assert.Truef(t, ok == c.ok && (!ok || up == c.up && down == c.down), "%v: %d, %d, %v", c.value, up, down, ok)
	}
}
