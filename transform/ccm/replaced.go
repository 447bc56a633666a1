// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"reflect"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// Upgrade is what becomes of the values of a release, as yamledit.Node.Value reads them. Helm
// replaces all values that a user has supplied.
type Upgrade struct {
	Has   any // of the release
	Gets  any // of the upgrade
	Needs any // of the release, with no more changed than the migration requires
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

// Replaced returns the keys of values that the upgrade would drop or change although the migration
// does not require it, and no choice of the operator does. No value is among them. The values are those at a path.
func (u Upgrade) Replaced(t transform.Target, path ...string) []string {
	all, isMap := u.Has.(map[string]any)
	_, isList := u.Has.([]any)
	switch {
	case reflect.DeepEqual(u.Has, u.Gets):
		return nil
	case isMap:
		return lists.Flat(lists.Keys(all), func(name string) []string {
			return Upgrade{all[name], at(u.Gets, name), at(u.Needs, name)}.Replaced(t, append(path, name)...)
		})
	case isList && slices.Equal(path, []string{argsKey}):
		return u.arguments()
	case isList:
		return lists.If(u.dropsItem(key(path)), key(path))
	}
	return lists.If(len(path) > 0 && reflect.DeepEqual(u.Has, u.Needs) && !u.chosen(t, key(path)), key(path))
}

// chosen reports whether the operator's choices decide a value, or the minor of the cluster does.
func (u Upgrade) chosen(t transform.Target, path string) bool {
	switch path {
	case "image.repository":
		return t.ImageRepository != ""
	case "image.tag":
		return t.ImageTag != "" || otherMinor(u.Has, u.Gets)
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
func (u Upgrade) arguments() (replaced []string) {
	has, gets, needs := args.Of(u.Has), args.Of(u.Gets), args.Of(u.Needs)
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
		replaced = append(replaced, name)
	}
	return lists.Distinct(replaced)
}

// ownArgs are arguments that only a migration adds.
var ownArgs = []string{"--" + LeaderFlag + "=true", migrationArg, cloudConfigArg}

// dropsItem compares lists, which Helm does not merge.
func (u Upgrade) dropsItem(path string) bool {
	has, _ := u.Has.([]any)
	now, _ := u.Gets.([]any)
	kept, _ := u.Needs.([]any)
	among := func(list []any, v any) bool {
		return slices.ContainsFunc(list, func(other any) bool { return reflect.DeepEqual(v, other) })
	}
	return slices.ContainsFunc(has, func(v any) bool { return !among(now, v) && among(kept, v) && !isOwnMount(path, v) })
}

// isOwnMount reports whether an item of a list mounts what only a migration mounts.
func isOwnMount(list string, v any) bool {
	return (list == volumesKey || list == mountsKey) && slices.Contains([]string{migrationMount.name, cloudConfigMount.name}, nameOf(v))
}
