// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestWhatATerminalWouldObeyIsEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"plain\n\ttext é日本\n":     "plain\n\ttext é日本\n",
		"a\x1b]0;PWN\x07b":        `a\u001b]0;PWN\u0007b`,
		"a\rb\r\nc\r":             `a\rb` + "\n" + `c\r`,
		"\u009b31m\u202e\u200b":   `\u009b31m\u202e\u200b`,
		"\x7f\u2028\ufeff\u00ad":  `\u007f\u2028\ufeff\u00ad`,
		"\xff\xc3":                `\xff\xc3`,
		"\U000e0041":              `\udb40\udc41`,
		Palette{}.paint(red, "x"): "x",
	} {
		becomes(t, text, want)
	}
}

func TestOwnColoursPassAndOthersDoNot(t *testing.T) {
	becomes(t, Palette{On: true}.paint(red, "a\x1b[32mb"), "\x1b[31m"+`a\u001b[32mb`+"\x1b[0m")
}

// Runners of CI systems read both streams, and take lines for commands.
func TestWhatARunnerWouldObeyIsEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"::error::x\n":                           ":\\u003aerror::x\n",
		"x\n \t\u00a0::set-output name=a::b":     "x\n \t\u00a0:\\u003aset-output name=a::b",
		"a ::b:: c\n- ::d":                       "a ::b:: c\n- ::d",
		"a ##[error]b":                           `a ##\u005berror]b`,
		"###[group]##vso[task.x]##x[":            `###\u005bgroup]##vso\u005btask.x]##x[`,
		"#[b] ## [c] ##[d":                       `#[b] ## [c] ##\u005bd`,
		"\x1b[31m::error::x":                     `\u001b[31m::error::x`,
		mark + "::error title=::a\n::error::b\n": "::error title=::a\n:\\u003aerror::b\n",
		strings.Repeat(" ", 100) + "::a":         strings.Repeat(" ", 100) + `:\u003aa`,
	} {
		becomes(t, text, want)
	}
}

func TestJSONStaysTheSameData(t *testing.T) {
	want := "::a\n##[b]a\x1b\u009b\u202e\x7f\U000e0041é\r\n\u2028"
	raw := assert.Value(json.Marshal(want))(t)
	var got string
	err := json.Unmarshal([]byte(legibly(t, string(raw))), &got)
	assert.Truef(t, err == nil && got == want, "%q, %v", got, err)
}

func legibly(t *testing.T, parts ...string) string {
	t.Helper()
	var b bytes.Buffer
	l := NewEscapingWriter(&b)
	for _, p := range parts {
		n, err := io.WriteString(l, p)
		assert.Must(t, n == len(p) && err == nil, n, err)
	}
	assert.NilError(t, l.Flush())
	return b.String()
}

// becomes requires what a text is escaped to, wherever it is cut in two.
func becomes(t *testing.T, text, want string) {
	t.Helper()
	for cut := range len(text) + 1 {
		assert.Equal(t, legibly(t, text[:cut], text[cut:]), want, text, "cut at", cut)
	}
}

func FuzzEscapingWriter(f *testing.F) {
	f.Add("a\x1b[31m", "\u202e\r")
	f.Fuzz(func(t *testing.T, one, two string) {
		for _, r := range legibly(t, one, two) {
			assert.Mustf(t, r == '\n' || r == '\t' || unicode.IsGraphic(r), "%q %q shows %q", one, two, r)
		}
	})
}

var escapedOrCode = regexp.MustCompile("(?s)\\\\.|`(?:@|#|://|www\\.|[!$%]\\d+|(?i:GH-\\d+)|[0-9a-fA-F]{7,64})`")

func FuzzMarkdown(f *testing.F) {
	f.Add("x\r# done\r\n@octo-org/admins https://evil.example <img src=x> #1 | `x` ~~x~~ [a](b)")
	f.Add("https://@admins `##1#2@@www.")
	f.Fuzz(func(t *testing.T, name string) {
		in := inline(name)
		assert.Truef(t, !strings.ContainsAny(in, "\n\r"), "%q makes lines: %q", name, in)
		// What is neither escaped nor one of our code spans is no markup.
		bare := escapedOrCode.ReplaceAllString(in, "")
		assert.Truef(t, !strings.ContainsAny(bare, "`*_[]<>|~@"), "%q has markup: %q", name, in)
		code := fenced("sh", name)
		assert.Truef(t, strings.Count(code, strings.SplitN(code, "sh", 2)[0]) == 2, "%q ends its block: %q", name, code)
	})
}
