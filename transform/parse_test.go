// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// screened parses a document that starts in line 11, and returns the rule that
// refuses it and the line.
func screened(t *testing.T, text string) string {
	t.Helper()
	doc, err := Parse(yamledit.Chunk{File: "c.yaml", Line: 10, Bytes: []byte(text)})
	if err == nil {
		assert.Truef(t, string(doc.Bytes()) == text, "the document holds %q", doc.Bytes())
		return ""
	}
	var refused *Refused
	if !errors.As(err, &refused) {
		return "not YAML"
	}
	assert.Truef(t, refused.At.File == "c.yaml" && refused.At.Do != "", "%#v", refused.At)
	return fmt.Sprintf("%s in line %d", refused.Rule, refused.At.Line)
}

func TestTemplatesAndEncryptedFilesAreRefused(t *testing.T) {
	const value = "spec:\n  token: ENC[AES256_GCM,data:aaaa,iv:bbbb,tag:cccc,type:str]\n"
	for _, c := range []struct{ name, text, want string }{
		// templates
		{"as a value", "a: b\nc: {{ .Values.c }}\n", "templated in line 12"},
		{"trimmed", "a: b\nc: {{- .Values.c -}}\n", "templated in line 12"},
		{"empty", "a: {{}}\n", "templated in line 11"},
		{"below a mapping", "a:\n  b:\n    c: {{ .c }}\n", "templated in line 13"},
		{"in a list", "a:\n- b\n- {{ .c }}\n", "templated in line 13"},
		{"in a flow list", "a: [b, {{ .c }}]\n", "templated in line 11"},
		{"in JSON", "{\"a\": {{ .c }} }\n", "templated in line 11"},
		{"as a key", "a: b\n{{ .c }}: d\n", "templated in line 12"},
		{"as a line", "a: b\n{{- if .c }}\nd: e\n{{- end }}\n", "templated in line 12"},
		{"as a block", "a:\n{{ toYaml .a | indent 2 }}\n", "templated in line 12"},
		{"two in a row", "a: {{ .b }}-{{ .c }}\n", "templated in line 11"},
		{"after a quoted one", "a: '{{ .b }}'\nc: {{ .d }} e\n", "templated in line 12"},
		{"after text", "a: b\nc: prod-{{ .Values.c }}\n", "templated in line 12"},
		{"in the middle of text", "a: b {{ .c }} d\n", "templated in line 11"},
		{"after text in a list", "a:\n- b=x{{ .c }}\n", "templated in line 12"},
		// braces that YAML quotes are none
		{"single quotes", "a: '{{ .b }}'\n", ""},
		{"double quotes", "a: \"x {{ .b }}\"\n", ""},
		{"quotes of several lines", "a: \"x\n  {{ .b }}\"\n", ""},
		{"a quoted key", "'{{ .a }}': b\n", ""},
		{"a comment", "# {{ .a }}\na: b\n", ""},
		{"a comment after a value", "a: b # {{ .c }}\n", ""},
		{"a literal block", "a: |\n  {{ .b }}\n", ""},
		{"a folded block", "a: >-\n  x {{ .b }}\n", ""},
		{"a literal block in a list", "a:\n- |\n  {{- range .b }}\n  {{- end }}\n", ""},
		{"JSON", "{\"a\": \"{{ .b }}\"}\n", ""},
		{"single braces", "a: {b: {c: d}}\n", ""},
		{"braces that do not go first", "a: ${b}\n", ""},
		// what is not YAML is none for braces elsewhere
		{"none", "a: [\n", "not YAML"},
		{"a comment", "# {{ .a }}\na: [\n", "not YAML"},
		{"single quotes", "a: '{{ .b }}'\nc: [\n", "not YAML"},
		{"double quotes", "a: \"{{ .b }}\"\nc: [\n", "not YAML"},
		{"duplicate keys", "a: 1\na: 2\n", "not YAML"},
		// encrypted by SOPS
		{"by SOPS", value + "sops:\n  kms: []\n  lastmodified: '2024-01-01T00:00:00Z'\n  mac: ENC[AES256_GCM,data:dddd]\n", "encrypted in line 13"},
		{"the checksum alone", "sops: {mac: ENC}\n" + value, "encrypted in line 11"},
		{"the time alone", value + "sops:\n  lastmodified: '2024-01-01T00:00:00Z'\n", "encrypted in line 13"},
		{"in JSON", "{\"sops\": {\"mac\": \"ENC\"}}\n", "encrypted in line 11"},
		// other things with its name
		{"a string", "sops: mac\n", ""},
		{"other fields", "sops: {version: 3.8.1}\n", ""},
		{"not the root", "spec:\n  sops: {mac: a}\n", ""},
		{"a list", "- sops: {mac: a}\n", ""},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, screened(t, c.text), c.want) })
	}
}

func TestRefusalsOfTemplatesSayWhatToDo(t *testing.T) {
	_, err := Parse(yamledit.Chunk{File: "c.yaml", Bytes: []byte("a: {{ .s3cr3t }}\n")})
	const want = "c.yaml:1: the file is a template ({{ }}), not a cluster; render it, and plan the result: helm template CHART | rke-lm plan -; then make the same edits in the template"
	assert.Truef(t, err != nil && err.Error() == want, "got:  %v\nwant: %s", err, want)
}

func TestADocumentThatKubectlReadsOtherwiseIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"the same":                    {"a: {b: [1, x]}\n", ""},
		"an item of a list":           {"- a: 1\n", ""},
		"a comment alone":             {"# a\n", ""},
		"an escape":                   {"a: \"\\x62\"\n", ""},
		"base64":                      {"a: !!binary YmM=\n", ""},
		"merged keys":                 {"x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  a: 3\n", ""},
		"a separator that YAML lacks": {"a: 1\n---#\nb: 2\n", "not YAML"},
		"text after the separator":    {"--- {a: 1}\n", "f:1: kubectl cannot read the document; write it as"},
		"a mapping as a key":          {"{\"a\": 1}: 2\n", "f:1: the file is a template"},
		"a null as a key":             {"a: 1\n~: 2\n", "f:1: kubectl cannot read the document"},
	} {
		_, err := Parse(yamledit.Chunk{File: "f", Bytes: []byte(c.text)})
		assert.Truef(t, (c.want != "" || err == nil) && (c.want == "" || err != nil && strings.Contains(err.Error(), c.want)), "%s: %v", name, err)
	}
}
