// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package jsonpatch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	evanphx "gopkg.in/evanphx/json-patch.v4"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// withoutEmpty is a server that keeps no empty mapping and no null.
func withoutEmpty(a, b any) bool { return reflect.DeepEqual(filled(a), filled(b)) }

func filled(v any) any {
	m, isMap := v.(map[string]any)
	if !isMap {
		return v
	}
	out := map[string]any{}
	for k, inner := range m {
		if inner = filled(inner); inner != nil {
			out[k] = inner
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func TestAPatchHoldsWhereWhatTheServerMadeOfItMeansTheSame(t *testing.T) {
	const before, after = `{"a":{"b":{"c":1}},"d":2}`, `{"a":{},"d":3}`
	p := assert.Value(Diff([]byte(object(before)), []byte(object(after))))(t)
	for _, c := range []struct {
		now          string
		holds, alike bool
	}{
		{after, true, true},
		{`{"a":{"b":{}},"d":3}`, false, true},
		{`{"a":{"b":null},"d":3}`, false, true},
		{`{"d":3}`, true, true},
		{`{"a":{"b":{"c":1}},"d":3}`, false, false},
		{`{"a":{"b":{"c":2}},"d":3}`, false, false},
		{`{"a":{"b":[]},"d":3}`, false, false},
		{`{"a":[],"d":3}`, false, false},
		{before, false, false},
	} {
		assert.Truef(t, p.Applied([]byte(object(c.now)), nil) == c.holds && p.Applied([]byte(object(c.now)), withoutEmpty) == c.alike, "%s: %t and %t", c.now, !c.holds, !c.alike)
	}
	other := []byte(`{"metadata":{"uid":"u-2"},"spec":` + after + `}`)
	assert.True(t, !p.Applied(other, withoutEmpty) && !p.Fits(other, withoutEmpty), "an object that was created again is taken for the one that was patched")
}

func TestAPatchFitsInMeaningWhereTheServerRefusesIt(t *testing.T) {
	const before = `{"a":{"b":{"c":1}}}`
	p := assert.Value(Diff([]byte(object(before)), []byte(object(`{"a":{"b":{"c":1},"d":1}}`))))(t)
	for now, want := range map[string][2]bool{
		before:                            {true, true},
		`{"a":{"b":{"c":1},"e":{}}}`:      {false, true},
		`{"a":{"b":{"c":1}},"x":[1]}`:     {true, true},
		`{"a":{"b":{"c":1},"e":{"f":1}}}`: {false, false},
		`{"a":{"b":{"c":2}}}`:             {false, false},
		`{}`:                              {false, false},
	} {
		_, err := applied(t, p, object(now))
		got := [2]bool{p.Fits([]byte(object(now)), nil), p.Fits([]byte(object(now)), withoutEmpty)}
		assert.Truef(t, got == want && (err == nil) == want[0], "%s: %v %v", now, got, err)
	}
}

// applied applies a patch as API servers do.
func applied(t *testing.T, p Patch, object string) (string, error) {
	t.Helper()
	decoded := assert.Value(evanphx.DecodePatch(p.Bytes()))(t)
	out, err := decoded.Apply([]byte(object))
	return string(out), err
}

func object(spec string) string {
	return `{"apiVersion":"v1","metadata":{"name":"a","uid":"u-1","resourceVersion":"7"},"spec":` + spec + `}`
}

func TestAPatchTestsWhatItChangesAndTheUID(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"a value", `{"a":{"b":1,"c":2}}`, `{"a":{"b":3,"c":2}}`,
			`[{"op":"test","path":"/metadata/uid","value":"u-1"},{"op":"test","path":"/spec/a/b","value":1},{"op":"replace","path":"/spec/a/b","value":3}]`},
		{"an added key tests the mapping around it", `{"a":{"b":1}}`, `{"a":{"b":1,"c":true}}`,
			`[{"op":"test","path":"/metadata/uid","value":"u-1"},{"op":"test","path":"/spec/a","value":{"b":1}},{"op":"add","path":"/spec/a/c","value":true}]`},
		{"a key that goes", `{"a":{"b":null,"c":2}}`, `{"a":{"c":2}}`,
			`[{"op":"test","path":"/metadata/uid","value":"u-1"},{"op":"test","path":"/spec/a/b","value":null},{"op":"remove","path":"/spec/a/b"}]`},
		{"a list is one value", `{"a":[1,2]}`, `{"a":[1,3,2]}`,
			`[{"op":"test","path":"/metadata/uid","value":"u-1"},{"op":"test","path":"/spec/a","value":[1,2]},{"op":"replace","path":"/spec/a","value":[1,3,2]}]`},
		{"keys with slashes and tildes", `{"a/b~c":1}`, `{"a/b~c":2}`,
			`[{"op":"test","path":"/metadata/uid","value":"u-1"},{"op":"test","path":"/spec/a~1b~0c","value":1},{"op":"replace","path":"/spec/a~1b~0c","value":2}]`},
		{"a test of a mapping replaces those in it", `{"a":{"b":{"c":1}}}`, `{"a":{"b":{"c":2},"d":1,"e":2}}`,
			`[{"op":"test","path":"/metadata/uid","value":"u-1"},{"op":"test","path":"/spec/a","value":{"b":{"c":1}}},{"op":"replace","path":"/spec/a/b/c","value":2},{"op":"add","path":"/spec/a/d","value":1},{"op":"add","path":"/spec/a/e","value":2}]`},
		{"texts stay as the server writes them", `{"a":"x \u003c y"}`, `{"a":"<"}`,
			`[{"op":"test","path":"/metadata/uid","value":"u-1"},{"op":"test","path":"/spec/a","value":"x \u003c y"},{"op":"replace","path":"/spec/a","value":"<"}]`},
		{"a large number", `{"a":12345678901234567890}`, `{"a":12345678901234567891}`,
			`[{"op":"test","path":"/metadata/uid","value":"u-1"},{"op":"test","path":"/spec/a","value":12345678901234567890},{"op":"replace","path":"/spec/a","value":12345678901234567891}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Diff([]byte(object(c.before)), []byte(object(c.after)))
			assert.Mustf(t, err == nil && string(p.Bytes()) == c.want, "%v\n%s\nwant\n%s", err, p.Bytes(), c.want)
			check(t, p, object(c.before), object(c.after))
		})
	}
}

// check applies a patch in another way, and holds Fits and Holds against it.
func check(t *testing.T, p Patch, before, after string) {
	t.Helper()
	got, err := applied(t, p, before)
	assert.Mustf(t, err == nil && same([]byte(got), []byte(after)), "%v\n%s\nwant\n%s\npatch\n%s", err, got, after, p.Bytes())
	assert.Truef(t, p.Fits([]byte(before), nil) && p.Applied([]byte(after), nil), "fits: %t, holds: %t", p.Fits([]byte(before), nil), p.Applied([]byte(after), nil))
	assert.Truef(t, !p.Applied([]byte(before), nil) && !p.Fits([]byte(after), nil), "the patch changes something, and its tests hold before it or it applies after it:\n%s", p.Bytes())
	if _, err := applied(t, p, after); err == nil {
		t.Error("it can be applied twice")
	}
}

func TestNoDifferenceIsNoPatch(t *testing.T) {
	p, err := Diff([]byte(object(`{"a":[1,"<"]}`)), []byte(object(`{ "a": [1, "\u003c"] }`)))
	assert.Truef(t, err == nil && len(p) == 0, "%v %s", err, p.Bytes())
}

func TestWhatCannotBeGuardedIsRefused(t *testing.T) {
	for _, c := range []struct {
		before, after string
		want          error
	}{
		{`[]`, `{}`, errNoObject},
		{`{}`, `x`, errNoObject},
		{`{"spec":{"a":1}}`, `{"spec":{"a":2}}`, errNoUID},
		{`{"metadata":{"uid":""},"spec":1}`, `{"metadata":{"uid":""},"spec":2}`, errNoUID},
		{`{"metadata":{"uid":" "},"spec":1}`, `{"metadata":{"uid":" "},"spec":2}`, errNoUID},
		{`{"Metadata":{"UID":"u-1"},"spec":1}`, `{"Metadata":{"UID":"u-1"},"spec":2}`, errNoUID},
		{`{"metadata":{"uid":"u"}}`, `{"metadata":{"uid":"u"},"spec":2}`, errRoot},
		{object(`{"args":["a",null]}`), object(`{"args":["a",null,"b"]}`), errNull},
		{object(`{"a":{"b":[{"c":[null]}]}}`), object(`{"a":{"b":[{"c":[null]}],"d":1}}`), errNull},
		{object(`{"a":[null],"b":[{"c":null}]}`), object(`{"a":[null],"b":[{"c":1}]}`), nil},
	} {
		p, err := Diff([]byte(c.before), []byte(c.after))
		assert.Truef(t, err == c.want, "%s → %s: %v %s", c.before, c.after, err, p.Bytes())
	}
}

// This is why such a patch is not sent.
func TestAServerCannotCompareANullInAList(t *testing.T) {
	defer func() {
		assert.True(t, recover() != nil, "it can by now: nothing is to be refused for that")
	}()
	applied(t, Patch{{Op: Test, Path: "/a", Value: json.RawMessage(`[null]`)}}, `{"a":[null]}`)
}

func TestTheDigestIsThatOfTheBytes(t *testing.T) {
	p, err := Diff([]byte(object(`{"a":1}`)), []byte(object(`{"a":2}`)))
	changes := lists.Map(lists.Where(p, func(o Operation) bool { return o.Op != Test }), func(o Operation) string { return o.Path })
	assert.Truef(t, err == nil && len(p.Digest()) == 64 && slices.Equal(changes, []string{"/spec/a"}), "%v %s %v", err, p.Digest(), changes)
	other, _ := Diff([]byte(object(`{"a":1}`)), []byte(object(`{"a":3}`)))
	assert.True(t, other.Digest() != p.Digest(), "two patches have one digest")
}

// random makes objects that a server could serve.
func random(r *rand.Rand, depth int) any {
	switch n := r.IntN(9); {
	case n < 3 && depth > 0:
		m := map[string]any{}
		for range r.IntN(5) {
			m[fmt.Sprint([]string{"a", "b/c", "d~e", "~1", "", "ü", "f g", "kube-arg+"}[r.IntN(8)])] = random(r, depth-1)
		}
		return m
	case n == 3 && depth > 0:
		list := []any{}
		for range r.IntN(4) {
			list = append(list, random(r, depth-1))
		}
		return list
	case n == 4:
		return r.IntN(3)
	case n == 5:
		return r.IntN(2) == 0
	}
	return strings.Repeat([]string{"x", "<&>", "\n", "\u2028", `"`, "\\"}[r.IntN(6)], r.IntN(3))
}

// mutated changes some of a value, so that most of it stays.
func mutated(r *rand.Rand, v any, depth int) any {
	m, isMap := v.(map[string]any)
	if !isMap || r.IntN(8) == 0 {
		return random(r, depth)
	}
	out := map[string]any{}
	for k, inner := range m {
		switch r.IntN(5) {
		case 0:
		case 1:
			out[k] = mutated(r, inner, depth-1)
		default:
			out[k] = inner
		}
	}
	if r.IntN(3) == 0 {
		out["new"] = random(r, depth)
	}
	return out
}

func served(t *testing.T, spec any) string {
	t.Helper()
	text := assert.Value(json.Marshal(map[string]any{"metadata": map[string]any{"uid": "u-1"}, "spec": spec}))(t)
	return string(text)
}

// A patch gives the other version, and fails on anything that changed where it
// writes: no third version comes of two writers.
func TestRandomObjectsArePatchedOrRefused(t *testing.T) {
	refused, changed := 0, 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 7))
		start := random(r, 4)
		before, after, other := served(t, start), served(t, mutated(r, start, 3)), served(t, mutated(r, start, 3))
		p := assert.Value(Diff([]byte(before), []byte(after)))(t)
		if len(p) == 0 {
			continue
		}
		changed++
		check(t, p, before, after)
		if _, err := applied(t, p, other); (err == nil) != p.Fits([]byte(other), nil) {
			t.Fatalf("seed %d: the server says %v\n%s\non %s", seed, err, p.Bytes(), other)
		} else if err != nil {
			refused++
		}
		recreated := strings.Replace(before, "u-1", "u-2", 1)
		_, err := applied(t, p, recreated)
		assert.Mustf(t, err != nil, "seed %d: an object that was created again is patched", seed)
	}
	assert.Truef(t, changed >= 1000 && refused >= 500, "%d patches, %d of them refused for another version: too few to tell", changed, refused)
}

func FuzzDiff(f *testing.F) {
	f.Add(`{"a":1}`, `{"a":[1]}`)
	f.Add(`{"a":{"b":null}}`, `{"a":{}}`)
	f.Add(`{"a":{"":{"~":1}}}`, `{"a":{"":{}}}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		before, after := normal(a), normal(b)
		if before == "" || after == "" {
			t.Skip()
		}
		p := assert.Value(Diff([]byte(before), []byte(after)))(t)
		if len(p) == 0 {
			assert.Must(t, same([]byte(before), []byte(after)), "a difference is not seen")
			return
		}
		check(t, p, before, after)
	})
}

// normal is a spec as a server would serve it, in an object, or "": lists with
// null in them are left out, which the other implementation cannot compare.
func normal(spec string) string {
	v, err := value([]byte(spec))
	if _, isMap := v.(map[string]any); err != nil || !isMap || strings.Contains(spec, "null") {
		return ""
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": "u-1"}, "spec": v})
	if err != nil {
		return ""
	}
	return string(text)
}
