// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"fmt"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

const (
	chartHead  = "kind: HelmChart\nmetadata: {name: app, namespace: kube-system}\nspec:\n  chart: app\n"
	configHead = "---\nkind: HelmChartConfig\nmetadata: {name: app, namespace: kube-system}\nspec:\n"
)

func content(text string) string { return "  valuesContent: |\n" + indent(text) }

// TestTheOrderOfValues adds one source after the other: each one beats those before
// it.
func TestTheOrderOfValues(t *testing.T) {
	manifests := chartHead
	tag := func() any { return released(t, sources(t, manifests, "")).Value("image", "tag") }
	assert.Equal(t, tag(), "v0", "the chart's default values set")
	steps := []struct{ source, want string }{
		{content("image: {tag: v1}"), "v1"},
		{"  values: {image: {tag: v2}}\n", "v2"},
		{configHead + content("image: {tag: v3}"), "v3"},
		{"  values: {image: {tag: v4}}\n", "v4"},
	}
	for _, s := range steps {
		manifests += s.source
		assert.Truef(t, tag() == s.want, "got %v after\n%s", tag(), manifests)
	}
	config := manifests[len(chartHead):]
	manifests = chartHead + "  set: {image.tag: v5}\n" + config
	assert.Equal(t, tag(), "v5", "spec.set")
}

func TestMergingIsHelms(t *testing.T) {
	for _, c := range []struct{ name, early, late, want string }{
		{"mappings are merged", "select: {b: x}", "select: {c: z}", "map[a: b:x c:z]"},
		{"null takes a value of the chart away", "select: {a: null}", "{}", "map[]"},
		{"a mapping after null restores it", "select: null", "select: {b: x}", "map[a: b:x]"},
		{"null after a mapping removes it", "select: {b: x}", "select: null", "<nil>"},
		{"what is no mapping replaces one", "select: {b: x}", "select: text", "text"},
	} {
		r := released(t, sources(t, chartHead+content(c.early)+configHead+content(c.late), ""))
		assert.Equal(t, fmt.Sprint(r.Value("select")), c.want, c.name)
	}
}

func TestEntriesOfSet(t *testing.T) {
	for _, c := range []struct {
		name, set string
		path      []string
		want      any
	}{
		{"integers are typed", "{n: 5}", []string{"n"}, int64(5)},
		{"strings of digits are not", "{n: '5'}", []string{"n"}, "5"},
		{"true in any case is, as Helm reads it", "{n: 'true'}", []string{"n"}, true},
		{"null takes away", "{select.a: 'null'}", []string{"select"}, map[string]any{}},
		{"commas stay", `{n: 'a,b\,c'}`, []string{"n"}, "a,b,c"},
		{"dots can be escaped", `{'select.x\.y/z': v}`, []string{"select", "x.y/z"}, "v"},
		{"items of a list", "{'args[1]': b, 'args[0]': a}", []string{"args"}, []any{"a", "b"}},
		{"strings come after what is typed", "{args: '{a,b}', 'args[0]': 1}", []string{"args"}, []any{"a,b"}},
	} {
		s := sources(t, chartHead+"  set: "+c.set+"\n", "")
		r := assert.Value(s.Read(Charts(s.Docs)[0], own))(t)
		assert.DeepEqual(t, r.Value(c.path...), c.want, c.name)
	}
	for _, key := range []string{"args[", "args[65535]"} {
		s := sources(t, chartHead+"  set: {'"+key+"': a}\n", "")
		_, err := s.Read(Charts(s.Docs)[0], own)
		assert.Truef(t, err != nil, "%s is read", key)
	}
}

func TestWhichConfigCounts(t *testing.T) {
	const values = "app: {image: {tag: vRancher}}\n"
	bare := "kind: HelmChart\nmetadata: {name: app}\nspec:\n  chart: app\n"
	for _, c := range []struct{ name, manifests, chartValues, want string }{
		{"chartValues of the name", chartHead, values, "vRancher"},
		{"chartValues of another name", chartHead, "other: {image: {tag: vRancher}}\n", "v0"},
		{"chartValues that are no mapping", chartHead, "app: text\n", "v0"},
		{"chartValues go to kube-system, and an object without a namespace to default", bare, values, "v0"},
		{"a HelmChartConfig in the same namespace", bare + "---\nkind: HelmChartConfig\nmetadata: {name: app}\nspec: {valuesContent: 'image: {tag: v1}'}\n", "", "v1"},
		{"a HelmChartConfig elsewhere", bare + configHead + content("image: {tag: v1}"), "", "v0"},
		{"in a list", "kind: List\nitems:\n- {kind: HelmChart, metadata: {name: app}, spec: {chart: app}}\n- {kind: HelmChartConfig, metadata: {name: app}, spec: {valuesContent: 'image: {tag: v1}'}}\n", "", "v1"},
		{"the later of two", chartHead + configHead + content("image: {tag: v1}") + configHead + content("image: {tag: v2}"), "", "v2"},
	} {
		assert.Equal[any](t, released(t, sources(t, c.manifests, c.chartValues)).Value("image", "tag"), c.want, c.name)
	}
	r := released(t, sources(t, chartHead+configHead+content("a: b"), values))
	_, twice := r.ConfiguredTwice()
	assert.True(t, twice, "chartValues and a HelmChartConfig are one object")
}

func TestFieldsThatAReleaseDoesNotKnow(t *testing.T) {
	s := sources(t, chartHead+"  values: {image: {tag: v1}}\n  valuesSecrets: [{name: s, keys: [k]}]\n", "")
	s.Fields = Fields{}
	r := released(t, s)
	_, hidden := r.Unknown("args")
	assert.True(t, !hidden && r.Value("image", "tag") == "v0" && len(s.Ignored(r)) == 2, r.Value("image"), s.Ignored(r))
}

func TestWhatASecretHoldsIsUnknown(t *testing.T) {
	secret := "  valuesSecrets: [{name: s, keys: [k]}]\n"
	for _, c := range []struct {
		name, manifests string
		path            []string
		unknown         bool
	}{
		{"a list in front of it", chartHead + content("args: [a]") + secret, []string{"args"}, true},
		{"a list after it", chartHead + secret + configHead + content("args: [a]"), []string{"args"}, false},
		{"a mapping after it is merged", chartHead + secret + configHead + content("select: {b: x}"), []string{"select"}, true},
		{"an entry of spec.set", chartHead + secret + "  set: {image.tag: v1}\n", []string{"image", "tag"}, false},
		{"one item of a list", chartHead + secret + "  set: {'args[0]': a}\n", []string{"args"}, true},
		{"a whole list", chartHead + secret + "  set: {args: '{a}'}\n", []string{"args"}, false},
		{"without keys it is not used", chartHead + "  valuesSecrets: [{name: s}]\n", []string{"args"}, false},
		{"the secret of the chart itself is not used", chartHead + "  valuesSecrets: [{name: chart-values-app, keys: [k]}]\n", []string{"args"}, false},
		{"of the HelmChartConfig", chartHead + content("args: [a]") + configHead + secret, []string{"args"}, true},
	} {
		r := released(t, sources(t, c.manifests, ""))
		l, unknown := r.Unknown(c.path...)
		assert.Equal(t, unknown, c.unknown, c.name, l.Name)
	}
}

func TestAChartThatCannotBeReadHasUnknownValues(t *testing.T) {
	r := released(t, sources(t, "kind: HelmChart\nspec: {chartContent: H4sIAAAA, valuesContent: 'args: [a]'}\n", ""))
	_, args := r.Unknown("args")
	_, tag := r.Unknown("image", "tag")
	assert.True(t, !args && tag && r.ArchiveErr != nil, args, tag, r.ArchiveErr)
}

func TestThePolicyThatCounts(t *testing.T) {
	for manifests, want := range map[string]string{
		chartHead: "", chartHead + "  failurePolicy: abort\n": "abort",
		chartHead + "  failurePolicy: abort\n" + configHead + "  failurePolicy: reinstall\n": "reinstall",
		chartHead + "  failurePolicy: abort\n" + configHead + content("a: b"):                "abort",
	} {
		got, _ := released(t, sources(t, manifests, "")).FailurePolicy()
		assert.Truef(t, got == want, "%s: %s", manifests, got)
	}
}

func TestTheLayerThatDecides(t *testing.T) {
	manifests := chartHead + content("args: [a]\nselect: {b: x}") + "  set: {image.tag: v1}\n" + configHead + content("select: {c: y}")
	r := released(t, sources(t, manifests, ""))
	for _, path := range []string{"args", "other"} {
		assert.Equal(t, r.Decider(path).Name, "valuesContent of HelmChart kube-system/app", path)
	}
	assert.True(t, r.Decider("image", "tag").Form == Entry && r.Decider("select", "c").Index == 1 && r.Decider("select", "b").Index == 0, "another layer decides")
}
