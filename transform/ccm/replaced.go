// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
)

// Upgrade is what becomes of the values of a release, as yamledit.Node.Value reads them. Helm
// replaces all values that a user has supplied.
type Upgrade struct {
	Has   any // of the release
	Gets  any // of the upgrade
	Needs any // of the release, with no more changed than the migration requires
}

// Replaced returns the keys of values that the upgrade would drop or change although the migration
// does not require it, and no choice of the operator does. No value is among them.
func (u Upgrade) Replaced(t transform.Target) []string {
	c := comparing{target: t}
	c.values(nil, u.Has, u.Gets, u.Needs)
	return c.replaced
}

type comparing struct {
	target   transform.Target
	replaced []string
}

// missing is the value of a key that a mapping does not have: null is one, and removes a value of
// the chart.
type missing struct{}

func at(v any, key string) any {
	m, _ := v.(map[string]any)
	if below, there := m[key]; there {
		return below
	}
	return missing{}
}

func (c *comparing) values(path []string, has, gets, needs any) {
	all, isMap := has.(map[string]any)
	list, isList := has.([]any)
	switch {
	case reflect.DeepEqual(has, gets):
	case isMap:
		for _, name := range slices.Sorted(maps.Keys(all)) {
			c.values(append(path, name), all[name], at(gets, name), at(needs, name))
		}
	case isList && slices.Equal(path, []string{argsKey}):
		c.arguments(args.Of(list), args.Of(gets), args.Of(needs))
	case isList:
		c.items(path, list, gets, needs)
	case len(path) > 0 && reflect.DeepEqual(has, needs) && !c.chosen(path, has, gets):
		c.replaced = append(c.replaced, key(path))
	}
}

// chosen reports whether the operator's choices decide a value, or the minor of the cluster does.
func (c *comparing) chosen(path []string, has, gets any) bool {
	switch key(path) {
	case "image.repository":
		return c.target.ImageRepository != ""
	case "image.tag":
		return c.target.ImageTag != "" || otherMinor(has, gets)
	}
	return false
}

// otherMinor reports whether two image tags are of different minors.
func otherMinor(a, b any) bool {
	one, _ := a.(string)
	other, _ := b.(string)
	return semver.IsValid(one) && semver.IsValid(other) && semver.MajorMinor(one) != semver.MajorMinor(other)
}

// arguments compares flags by their names: their order and spelling mean nothing.
func (c *comparing) arguments(has, gets, needs []args.Arg) {
	for i, a := range has {
		last, _ := args.Last(has, a.Name)
		now, stays := args.Last(gets, a.Name)
		kept, needed := args.Last(needs, a.Name)
		if slices.ContainsFunc(has[i+1:], func(later args.Arg) bool { return later.Name == a.Name }) || stays && now.Value == last.Value ||
			!needed || kept.Value != last.Value || slices.Contains(ownArgs, last.Text) {
			continue
		}
		name := argsKey // an argument that is no flag is a value
		if strings.HasPrefix(last.Text, "-") {
			flag, _, _ := strings.Cut(strings.TrimLeft(last.Name, "-"), " ")
			name += " --" + flag
		}
		if !slices.Contains(c.replaced, name) {
			c.replaced = append(c.replaced, name)
		}
	}
}

// ownArgs are arguments that only a migration adds.
var ownArgs = []string{"--" + LeaderFlag + "=true", migrationArg, cloudConfigArg}

// items compares lists, which Helm does not merge.
func (c *comparing) items(path []string, has []any, gets, needs any) {
	now, _ := gets.([]any)
	kept, _ := needs.([]any)
	among := func(list []any, v any) bool {
		return slices.ContainsFunc(list, func(other any) bool { return reflect.DeepEqual(v, other) })
	}
	if slices.ContainsFunc(has, func(v any) bool { return !among(now, v) && among(kept, v) && !isOwnMount(path, v) }) {
		c.replaced = append(c.replaced, key(path))
	}
}

// isOwnMount reports whether an item of a list mounts what only a migration mounts.
func isOwnMount(path []string, v any) bool {
	list := key(path)
	return (list == volumesKey || list == mountsKey) && slices.Contains([]string{migrationMount.name, cloudConfigMount.name}, nameOf(v))
}
