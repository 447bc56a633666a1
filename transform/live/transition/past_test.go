// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

const joining = "image: {tag: v1.26.6}\nargs: [--v=2, --enable-leader-migration=true]\n"

func running(tag string, args ...string) []observed.DaemonSet {
	return []observed.DaemonSet{{Image: "registry.example.org:5000/ccm:" + tag, Args: append([]string{"/bin/manager"}, args...)}}
}

func TestAChartIsInstalledWhenItRunsWithItsValues(t *testing.T) {
	for _, c := range []struct {
		name   string
		values string
		sets   []observed.DaemonSet
		want   bool
	}{
		{"nothing runs", joining, nil, false},
		{"as the values say", joining, running("v1.26.6", "--v=2", "--enable-leader-migration=true"), true},
		{"with more arguments", joining, running("v1.26.6", "--v=2", "--enable-leader-migration=true", "--own"), true},
		{"another image", joining, running("v1.26.5", "--v=2", "--enable-leader-migration=true"), false},
		{"without the flag", joining, running("v1.26.6", "--v=2"), false},
		{"another value", joining, running("v1.26.6", "--v=3", "--enable-leader-migration=true"), false},
		{"a flag that is not wanted", "image: {tag: v1.26.6}\nargs: [--v=2]\n", running("v1.26.6", "--v=2", "--enable-leader-migration=true"), false},
		{"values that are none", "", running("v1.26.6"), false},
	} {
		assert.Equal(t, installed(c.values, c.sets), c.want, c.name)
	}
}

func TestAManagerHasLeftTheMigrationWithoutTheFlag(t *testing.T) {
	const final = "image: {tag: v1.27.1}\nargs: [--v=2]\n"
	for _, c := range []struct {
		name   string
		values string
		sets   []observed.DaemonSet
		want   bool
	}{
		{"nothing runs", final, nil, false},
		{"as the values say", final, running("v1.27.1", "--v=2"), true},
		{"a later patch and other arguments are the user's own", final, running("v1.27.9", "--v=4"), true},
		{"another minor", final, running("v1.26.6", "--v=2"), false},
		{"the flag", final, running("v1.27.1", "--v=2", "--enable-leader-migration=true"), false},
		{"the flag by its name alone", final, running("v1.27.1", "--v=2", "--enable-leader-migration"), false},
		{"the flag turned off", final, running("v1.27.1", "--v=2", "--enable-leader-migration=false"), true},
		{"the flag is kept", joining, running("v1.26.6", "--v=2", "--enable-leader-migration=true"), true},
	} {
		assert.Equal(t, finished(c.values, c.sets), c.want, c.name)
	}
}
