// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"errors"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

func TestAnUpgradeTakesOneMinorAfterTheOther(t *testing.T) {
	known := map[string]string{"v1.27": "v1.27.9", "v1.28": "v1.28.9"}
	yes, no := func() bool { return true }, func() bool { return false }
	for _, c := range []struct {
		name, to      string
		migrated, old func() bool
		want          string // the version of the plan, how it moves, or the error
	}{
		{"no release", "", yes, no, " "},
		{"the release of now", "v1.26.5", yes, no, "v1.26.5 in-switch"},
		{"a later patch", "v1.26.9", yes, no, "v1.26.9 by-stages"},
		{"the next minor", "v1.27.1", yes, no, "v1.27.1 by-stages"},
		{"a later one, by the newest release of the next", "v1.29.1", yes, no, "v1.27.9 by-stages"},
		{"the image first", "v1.29.1", yes, yes, "v1.26.5 by-stages"},
		{"the image of the release of now", "v1.26.5", yes, yes, "v1.26.5 by-stages"},
		{"the next minor, in the switch", "v1.27.1", no, no, "v1.27.1 in-switch"},
		{"a later one, after the migration", "v1.29.1", no, no, " in-switch"},
		{"a minor without a known release", "v1.30.1", yes, no, "no release of Kubernetes 1.29 is known, and an upgrade to v1.30.1 skips no minor; upgrade to a release of 1.29 first"},
		{"the same before the migration", "v1.30.1", no, no, "no release of Kubernetes 1.29 is known"},
		{"an older one", "v1.25.1", yes, no, "is older"},
		{"no release at all", "latest", yes, no, "not a test release"},
		{"one that the format refuses", "v1.27.2", yes, no, "not this one"},
	} {
		m, _ := move(t, "v1.26.5", c.to)
		got, err := m.Decide(transform.Target{Version: c.to}, UpgradePath{Migrated: c.migrated, OldImage: c.old, Newest: func(minor string) string { return known[minor] }, Check: func() error {
			if c.to == "v1.27.2" {
				return errors.New("not this one")
			}
			return nil
		}})
		text := got.Version + " " + string(got.Upgrade)
		if err != nil {
			text = err.Error()
		}
		assert.Truef(t, strings.Contains(text, c.want) && (err != nil || text == c.want), "%s: %s", c.name, text)
		if again, err := m.Decide(got, UpgradePath{}); err == nil && got.Upgrade != "" && again.Version != got.Version {
			t.Errorf("%s: decided twice", c.name)
		}
	}
}
