// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestReleasesCompareByMinorAndPatch(t *testing.T) {
	for name, ok := range map[string]bool{
		"a later minor":                    From("v1.27.1-rancher1-1", "v1.27"),
		"the minor itself":                 From("v1.26.0+rke2r1", "v1.26"),
		"not an earlier one":               !From("v1.26.15", "v1.27"),
		"the number of a minor":            Minor("v1.26.15-rancher1-1") == 26,
		"no number of what is no release":  Minor("latest") == 0,
		"a patch, whatever follows":        atLeast("v1.26.9-rancher1-1", "v1.26.9"),
		"not an earlier patch":             !atLeast("v1.26.8+rke2r9", "v1.26.9"),
		"patched in an old minor":          Since("v1.4.15", "v1.4.15"),
		"in every minor after the last":    Since("v1.5.0", "v1.4.15"),
		"neither":                          !Since("v1.4.14", "v1.4.15"),
		"not patched in a minor before it": !Since("v1.3.99", "v1.4.15"),
	} {
		assert.True(t, ok, name)
	}
}

func isTest(version string) bool { return strings.HasPrefix(version, "v1.") }

func move(t *testing.T, from, to string) (Upgrade, *yamledit.Document) {
	t.Helper()
	doc := assert.Value(yamledit.ParseString("c.yaml", "version: "+from+"\n"))(t)
	return Upgrade{From: from, To: to, At: doc.Root().Get("version"), Holder: doc.Root(), Format: "a test", Example: "v1.27.1", Is: isTest}, doc
}

func TestAnUpgradeIsOneMinorAtMost(t *testing.T) {
	for to, want := range map[string]string{
		"":        "version: v1.26.5\n",
		"v1.26.5": "version: v1.26.5\n",
		"v1.26.9": "version: v1.26.9\n",
		"v1.27.1": "version: v1.27.1\n",
		"v1.26.4": "is older",
		"v1.28.0": "c.yaml: --target-version v1.28.0: it is 2 minors after v1.26.5",
		"latest":  "--target-version latest: it is not a test release such as v1.27.1",
	} {
		m, doc := move(t, "v1.26.5", to)
		e := doc.Edit()
		m.Queue(e)
		got := ""
		if err := e.Err(); err != nil {
			got = err.Error()
		} else if after, _, err := e.Apply(); err == nil {
			got = string(after.Bytes())
		}
		assert.Contains(t, got, want, to)
	}
}

func TestAMoveSaysWhatItMeans(t *testing.T) {
	up, _ := move(t, "v1.26.5", "v1.27.1")
	patch, _ := move(t, "v1.26.5", "v1.26.9")
	none, _ := move(t, "v1.26.5", "v1.26.5")
	assert.True(t, strings.Contains(up.Why(), "From 1.27 on you cannot roll back to the in-tree provider.") && !strings.Contains(patch.Why(), "From 1.27 on you cannot roll back to the in-tree provider.") && none.Why()+none.Caution() == "" && strings.Contains(patch.Caution(), "v1.26.5"), up.Why(), patch.Why(), none.Why())
	assert.True(t, up.Reached() == "v1.27.1" && none.Reached() == "v1.26.5", up.Reached(), none.Reached())
	down, _ := move(t, "v1.26.5", "v1.25.1")
	assert.Equal(t, down.Reached(), "v1.26.5")
}

func TestThereIsNoRollbackFrom127(t *testing.T) {
	m, doc := move(t, "v1.27.1", "")
	var conflict *transform.Conflict
	err := CheckRollback("v1.27.1", m.At)
	assert.True(t, errors.As(err, &conflict) && strings.HasPrefix(err.Error(), "c.yaml:1: version: "), err)
	err = CheckRollback("v1.27.1", doc.Root().Get("none"))
	assert.True(t, errors.As(err, &conflict), err)
	assert.NilError(t, CheckRollback("v1.26.5", m.At))
}

func TestAStatementIsTheFilesOrTheAssumedOne(t *testing.T) {
	for _, c := range []struct{ name, stated, assumed, want string }{
		{"stated", "v1.26.5", "", "v1.26.5"},
		{"stated, whatever is assumed", "v1.26.5", "v1.25.1", "v1.26.5"},
		{"assumed", "", "v1.25.1", "v1.25.1"},
		{"assumed instead of what is none", "latest", "v1.25.1", "v1.25.1"},
		{"absent", "", "", "version is absent; set it, or use --assume-version"},
		{"none", "latest", "", "not a test release such as v1.27.1; correct it"},
		{"assumed, and none", "", "latest", "the assumed version is not a test release"},
		{"too old", "v1.21.9", "", "leader migration requires Kubernetes 1.22 or later"},
	} {
		m, doc := move(t, "v1.26.5", "")
		got, err := Statement{At: m.At, Holder: doc.Root(), Key: "version", Stated: c.stated, Assumed: c.assumed, Format: m.Format, Example: m.Example, Is: isTest}.Version()
		if err != nil {
			got = err.Error()
		}
		assert.Contains(t, got, c.want, c.name)
	}
}

func TestAReferenceIsReadInItsParts(t *testing.T) {
	for ref, want := range map[string]Image{
		"a/b:v1": {"a/b", "v1", ""}, "host:5000/a": {"host:5000/a", "", ""}, "a:v2@sha256:abc": {"a", "v2", "sha256:abc"}, "a@sha256:abc": {"a", "", "sha256:abc"}, "": {},
	} {
		assert.Equal(t, ParseImage(ref), want, ref)
	}
	assert.Equal(t, ParseImage("host:5000/a/b:v1").Base(), "b")
}

func TestTheTableIsInOrderAndItsReleasesAreOfTheirMinor(t *testing.T) {
	assert.True(t, slices.IsSortedFunc(RancherMinors(), func(a, b RancherMinor) int { return semver.Compare(a.Minor, b.Minor) }), "it is not in order")
	for _, r := range RancherMinors() {
		for _, first := range []string{r.ExternalProvider, r.OrderKept, r.ArgsKept, r.TokenForbidden} {
			assert.Truef(t, first == "" || semver.MajorMinor(first) == r.Minor, "%s has %s", r.Minor, first)
		}
		assert.Truef(t, r.ArgsKept == "" || r.OrderKept != "" && semver.Compare(r.OrderKept, r.ArgsKept) <= 0, "%s keeps every argument, and not their order", r.Minor)
	}
}

func TestAReleaseIsLookedUpWithOrWithoutAV(t *testing.T) {
	for _, version := range []string{"v2.8.5", "2.8.5", "2.8.5-rc1"} {
		v := RancherOf(version)
		assert.Truef(t, v.Known && v.Minor == "v2.8" && v.Since(v.ExternalProvider), "%s: %+v", version, v)
	}
	v := RancherOf("2.7.10")
	assert.True(t, !v.Since(v.ExternalProvider), "2.7.10 knows external-aws")
	for version, forbidden := range map[string]bool{"2.7.18": false, "2.8.15": false, "2.9.0": true, "2.14.4": true} {
		v := RancherOf(version)
		assert.Truef(t, v.Since(v.TokenForbidden) == forbidden, "%s answers 403 to a token that it does not accept: %t", version, !forbidden)
	}
	v = RancherOf("2.12.0")
	assert.True(t, !v.Since(v.ExternalProvider) && !v.Since(v.ArgsKept) && v.Since(v.OrderKept), v)
}

func TestAnUnknownVersionIsTheStrictest(t *testing.T) {
	for _, version := range []string{"v2.6.9", "v2.15.0", "v3.0.0", "dev", ""} {
		v := RancherOf(version)
		assert.Truef(t, !v.Known && v.PlainEntry && !v.Since(v.ExternalProvider) && !v.Since(v.OrderKept) && !v.Since(v.ArgsKept) && !v.Since(v.TokenForbidden), "%s: %+v", version, v)
	}
}

func TestFirstNamesWhatFollowsOnce(t *testing.T) {
	assert.Equal(t, FirstRancher(func(r RancherMinor) string { return r.ArgsKept }), "2.11.7, 2.12.3, 2.13.0 and later")
	assert.Equal(t, FirstRancher(func(r RancherMinor) string { return r.TokenForbidden }), "2.9.0 and later")
	assert.Equal(t, FirstRancher(func(r RancherMinor) string { return r.ExternalProvider }), "2.7.11, 2.8.0 and later")
}
