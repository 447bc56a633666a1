// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"slices"
	"testing"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestTheTableIsInOrderAndItsReleasesAreOfTheirMinor(t *testing.T) {
	assert.True(t, slices.IsSortedFunc(RancherMinors(), func(a, b RancherMinor) int { return semver.Compare(a.Minor, b.Minor) }), "it is not in order")
	for _, r := range RancherMinors() {
		for _, first := range []string{r.ExternalAWS, r.OrderKept, r.ArgsKept, r.TokenForbidden} {
			assert.Truef(t, first == "" || semver.MajorMinor(first) == r.Minor, "%s has %s", r.Minor, first)
		}
		assert.Truef(t, r.ArgsKept == "" || r.OrderKept != "" && semver.Compare(r.OrderKept, r.ArgsKept) <= 0, "%s keeps every argument, and not their order", r.Minor)
	}
}

func TestAReleaseIsLookedUpWithOrWithoutAV(t *testing.T) {
	for _, version := range []string{"v2.8.5", "2.8.5", "2.8.5-rc1"} {
		v := RancherOf(version)
		assert.Truef(t, v.Known && v.Minor == "v2.8" && v.Since(v.ExternalAWS), "%s: %+v", version, v)
	}
	v := RancherOf("2.7.10")
	assert.True(t, !v.Since(v.ExternalAWS), "2.7.10 knows external-aws")
	for version, forbidden := range map[string]bool{"2.7.18": false, "2.8.15": false, "2.9.0": true, "2.14.4": true} {
		v := RancherOf(version)
		assert.Truef(t, v.Since(v.TokenForbidden) == forbidden, "%s answers 403 to a token that it does not accept: %t", version, !forbidden)
	}
	v = RancherOf("2.12.0")
	assert.True(t, !v.Since(v.ExternalAWS) && !v.Since(v.ArgsKept) && v.Since(v.OrderKept), v)
}

func TestAnUnknownVersionIsTheStrictest(t *testing.T) {
	for _, version := range []string{"v2.6.9", "v2.15.0", "v3.0.0", "dev", ""} {
		v := RancherOf(version)
		assert.Truef(t, !v.Known && v.PlainEntry && !v.Since(v.ExternalAWS) && !v.Since(v.OrderKept) && !v.Since(v.ArgsKept) && !v.Since(v.TokenForbidden), "%s: %+v", version, v)
	}
}

func TestFirstNamesWhatFollowsOnce(t *testing.T) {
	assert.Equal(t, FirstRancher(func(r RancherMinor) string { return r.ArgsKept }), "2.11.7, 2.12.3, 2.13.0 and later")
	assert.Equal(t, FirstRancher(func(r RancherMinor) string { return r.TokenForbidden }), "2.9.0 and later")
	assert.Equal(t, FirstRancher(func(r RancherMinor) string { return r.ExternalAWS }), "2.7.11, 2.8.0 and later")
}
