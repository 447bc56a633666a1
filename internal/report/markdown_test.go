// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func aPlan() Plan {
	return Plan{
		Name: "harbour", Namespace: "fleet-default", Format: "rke2", Version: "v1.26.15+rke2r1",
		Source: Source{File: "a|b.yaml", Line: 3}, SHA256: "5a",
		Stages: []Stage{
			{Name: "grant-migration-lease", State: plan.Done, Why: "not shown", Edits: []plan.Place{}, Actions: []action.Action{}, Findings: []transform.Finding{}},
			{
				Name: "switch-to-external", State: plan.Blocked, Why: "takes <both> `managers` | and_more",
				Edits:    []plan.Place{{Path: "spec", Line: 4}},
				Actions:  []action.Action{{Why: "wait", Command: "kubectl get 'x' | cat"}},
				Findings: []transform.Finding{{Rule: "node-rename", Severity: transform.Error, File: "c.yaml", Line: 5, Message: "renames", Fix: "choose"}, {Rule: "other", Severity: transform.Note, Accepted: true, File: "c.yaml", Line: 6, Message: "m"}},
				Diff:     "--- a/c\n+++ b/c\n@@ -1,1 +1,1 @@\n-```\n+x\n",
			},
		},
	}
}

func TestMarkdownIsACommentForAReview(t *testing.T) {
	want := strings.ReplaceAll(`## rke2 fleet-default/harbour

v1.26.15+rke2r1, from a\|b.yaml:3

| stage | state | findings |
|---|---|---|
| grant-migration-lease | done |  |
| switch-to-external | **blocked** | error 'node-rename', note 'other' |

### switch-to-external

takes &lt;both&gt; \'managers\' \| and\_more

- **error** 'node-rename' 'c.yaml:5': renames → choose
- **note** 'other' (accepted) 'c.yaml:6': m

wait:

'''sh
kubectl get "x" | cat
'''

<details><summary>Diff</summary>

''''diff
--- a/c
+++ b/c
@@ -1,1 +1,1 @@
-'''
+x
''''

</details>

`, "'", "`")
	got := written(func(b *bytes.Buffer) { WriteMarkdown(b, aPlan()) })
	assert.DeepEqual(t, got, strings.ReplaceAll(want, `"`, "'"))
}

func TestYAMLAndJSONSayTheSame(t *testing.T) {
	var asJSON, asYAML bytes.Buffer
	v := Plans{TypeMeta: Type("Plan"), Clusters: []Plan{aPlan()}, Errors: []Problem{{Message: "no: \"x\"\u202e\r"}}}
	for _, format := range []string{"json", "yaml"} { // which a terminal would obey; YAML keeps its bytes
		out := NewEscapingWriter(&asJSON)
		o := Output{OutputFormat: format, Out: out, Data: &asYAML}
		assert.NilError(t, o.Dump(v))
		out.Flush()
	}
	var a, b any
	assert.NilError(t, json.Unmarshal(asJSON.Bytes(), &a))
	assert.NilError(t, yaml.Unmarshal(asYAML.Bytes(), &b))
	assert.DeepEqual(t, b, a, "(-json +yaml)")
}

// TestHunksSayWhereTheyAre has two changes that are close together and one that
// is not.
func TestHunksSayWhereTheyAre(t *testing.T) {
	lines := func(change map[int]string) *yamledit.Document {
		var b strings.Builder
		for i := range 30 {
			b.WriteString("k" + string(rune('a'+i)) + ": 1" + change[i] + "\n")
		}
		return assert.Value(yamledit.Parse(yamledit.Chunk{File: "c.yaml", Line: 100, Bytes: []byte(b.String())}))(t)
	}
	diff := Diff(lines(nil), lines(map[int]string{2: "\nnew1: 1\nnew2: 1", 6: "0", 25: "0"}))
	var headers []string
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "@@") {
			headers = append(headers, strings.TrimSpace(line))
		}
	}
	assert.DeepEqual(t, headers, []string{"@@ -101,10 +101,12 @@ new1", "@@ -123,7 +125,7 @@ kz"})
}

// What GitHub and GitLab make links of is in a code span.
func TestReferencesInMarkdownAreNoLinks(t *testing.T) {
	for text, want := range map[string]string{
		"see GH-123, gh-4 and xGH-5":                   "see `GH-123`, `gh-4` and xGH-5",
		"a 11bd71901bbe5b1630ceea73d27597364c9af683 b": "a `11bd71901bbe5b1630ceea73d27597364c9af683` b",
		"11BD719, 11bd71, v1.26.15+rke2r1":             "`11BD719`, 11bd71, v1.26.15+rke2r1",
		"!12 $3 %45 50% a!b":                           "`!12` `$3` `%45` 50% a!b",
		"#12 a#b @x":                                   "`#`12 a`#`b `@`x",
	} {
		assert.Equal(t, inline(text), want, text)
	}
}
