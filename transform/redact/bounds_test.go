// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Each is a string whose only content, as YAML, is a string again.
var ownStrings = []string{
	"a: \"b\\u2028\\nc\"\n",
	"a: \"b\\u2029\\nc\"\n",
	"a: \"b\\x85\\nc\"\n",
	"a: |\n  pasted text\u2028\n  more\n",
	"a: |\n  pasted text\u2029\n\n  more\n",
	"a: >\n  pasted\u2028\n\n  more\n",
	"a: 'b\u2028\n\n  c'\n",
	"a: |\n  'b\u2028\n\n  c'\n",
	"a: |\n  --- |\n    b\n",
	"a: |\n  \"b\\nc\"\n",
}

func TestAStringThatIsItsOwnDocumentEnds(t *testing.T) {
	for _, text := range ownStrings {
		redacted(t, text)
		if d, err := yamledit.ParseString("", text); err == nil {
			Value("a", d.Root().Value())
		}
	}
}

func TestWhatIsTooDeepToBeReadIsHidden(t *testing.T) {
	text := "note: hunter2\n"
	for range yamledit.MaxEmbedding + 2 {
		text = "a: |\n " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n ") + "\n"
	}
	hidesSecret(t, text)
	flow := "a: |\n  " + strings.Repeat("[", yamledit.MaxNesting+9) + "hunter2" + strings.Repeat("]", yamledit.MaxNesting+9) + "\n"
	hidesSecret(t, flow)
	out := Value("a", strings.TrimPrefix(flow, "a: |\n")+"\n").(string)
	assert.True(t, !strings.Contains(out, "hunter2"), out)
}
