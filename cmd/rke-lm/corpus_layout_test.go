// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// layout writes a document in another way.
type layout struct {
	name  string
	write func(doc *yamledit.Document) ([]byte, error)
}

var layouts = []layout{
	{"as written", rewritten(func(text []byte) []byte { return text })},
	{"with CRLF", rewritten(func(text []byte) []byte {
		return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	})},
	{"without a final line break", rewritten(func(text []byte) []byte { return bytes.TrimRight(text, "\r\n") })},
	{"after a byte order mark", rewritten(func(text []byte) []byte { return append([]byte("\ufeff"), text...) })},
	{"with a comment above each line", eachLine(func(i int, line string) string {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		return fmt.Sprintf("%s# above %d\n%s", indent, i, line)
	})},
	{"with a comment after each line", eachLine(func(i int, line string) string { return fmt.Sprintf("%s # after %d", line, i) })},
	{"with blank lines", eachLine(func(_ int, line string) string { return "\n" + line })},
	{"with braces around its configuration", inBraces("machineGlobalConfig", "machineSelectorConfig")},
	{"as kubectl writes it", reencoded(func(v any) ([]byte, error) { return yaml.Marshal(v) })},
	{"as JSON on one line", reencoded(json.Marshal)},
	{"as indented JSON", reencoded(func(v any) ([]byte, error) { return json.MarshalIndent(v, "", "  ") })},
}

// of returns the document in the layout, or false where it would mean something
// else.
func (l layout) of(doc *yamledit.Document) (*yamledit.Document, bool) {
	text, err := l.write(doc)
	before, err1 := valueOf(doc.Bytes())
	after, err2 := valueOf(text)
	if errors.Join(err, err1, err2) != nil || !reflect.DeepEqual(before, after) {
		return nil, false
	}
	chunk := doc.Chunk()
	chunk.Bytes = text
	v, err := transform.Parse(chunk)
	return v, err == nil
}

// valueOf reads YAML as Kubernetes clients do.
func valueOf(text []byte) (v any, err error) {
	err = yaml.Unmarshal(text, &v)
	return v, err
}

func rewritten(rewrite func(text []byte) []byte) func(*yamledit.Document) ([]byte, error) {
	return func(doc *yamledit.Document) ([]byte, error) { return rewrite(doc.Bytes()), nil }
}

func reencoded(encode func(any) ([]byte, error)) func(*yamledit.Document) ([]byte, error) {
	return func(doc *yamledit.Document) ([]byte, error) {
		v, err := valueOf(doc.Bytes())
		if err != nil {
			return nil, err
		}
		return encode(v)
	}
}

var opensBlock = regexp.MustCompile(`[|>][-+0-9]*\s*(#.*)?$`)

// eachLine rewrites the lines that are neither blank, comments, markers nor the
// text of a block scalar.
func eachLine(rewrite func(i int, line string) string) func(*yamledit.Document) ([]byte, error) {
	return rewritten(func(text []byte) []byte {
		lines, block := strings.Split(string(text), "\n"), -1
		for i, line := range lines {
			content := strings.TrimLeft(line, " ")
			indent := len(line) - len(content)
			if content == "" || block >= 0 && indent > block {
				continue
			}
			block = -1
			if strings.HasPrefix(content, "#") || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...") {
				continue
			}
			if opensBlock.MatchString(line) {
				block = indent
			}
			lines[i] = rewrite(i+1, line)
		}
		return []byte(strings.Join(lines, "\n"))
	})
}

// inBraces writes parts of rkeConfig as flow collections.
func inBraces(keys ...string) func(*yamledit.Document) ([]byte, error) {
	return func(doc *yamledit.Document) ([]byte, error) {
		lines := bytes.SplitAfter(doc.Bytes(), []byte("\n"))
		for _, key := range keys {
			n := doc.Root().Get("spec", "rkeConfig", key)
			if n.Len() == 0 {
				continue
			}
			flow, err := json.Marshal(n.Value())
			if err != nil {
				return nil, err
			}
			above := n.Document().Chunk().Line
			from, to := n.Line()-above-1, lastLine(n)-above // the 0-based line at which it starts, and the one after its last descendant
			before, _, _ := bytes.Cut(lines[from], []byte(":"))
			lines[from] = fmt.Appendf(nil, "%s: %s\n", before, flow)
			clear(lines[from+1 : to])
		}
		return bytes.Join(lines, nil), nil
	}
}

func lastLine(n yamledit.Node) int {
	last := n.Line()
	for _, c := range n.Children() {
		last = max(last, lastLine(c))
	}
	return last
}
