// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// Map is a mapping to be written, its keys in order.
type Map []Pair

// Pair is one entry of a Map. A Value is a string, bool, int, nil, Map, []any
// or []string.
type Pair struct {
	Key   string
	Value any
}

// normal brings a value to the types that the rest of the package knows. The edit fails if it has none.
func (e *Edit) normal(v any) any {
	switch v := v.(type) {
	case nil, bool, float64, string:
		return v
	case int:
		return float64(v)
	case []string:
		return lists.Map(v, func(s string) any { return s })
	case []any:
		return lists.Map(v, e.normal)
	case Map:
		return Map(lists.Map(v, func(p Pair) Pair { return Pair{p.Key, e.normal(p.Value)} }))
	}
	e.Fail(fmt.Errorf("a value of type %T cannot be written as YAML", v))
	return nil
}

// blockWriter renders values in block style. Lines are joined by "\n"; the
// splice turns them into the file's own breaks.
type blockWriter struct {
	style *style
	dash  int
	strings.Builder
}

func (d *Document) blockWriter(m *yaml.Node) *blockWriter {
	return &blockWriter{style: d.style(), dash: d.dashFor(m)}
}

// entry writes "key: value" for a key in column.
func (w *blockWriter) entry(column int, p Pair) {
	w.WriteString(w.scalar(p.Key))
	w.WriteByte(':')
	w.after(column, p.Value)
}

// after writes a value after the colon of a key in column.
func (w *blockWriter) after(column int, v any) {
	switch v := v.(type) {
	case Map:
		if len(v) > 0 {
			w.WriteByte('\n')
			w.entries(column+w.style.step, v, false)
			return
		}
	case []any:
		if len(v) > 0 {
			w.WriteByte('\n')
			w.items(column+w.dash, v)
			return
		}
	case string:
		if literal, ok := literalBlock(v, column+w.style.step, w.style.step); ok {
			w.WriteByte(' ')
			w.WriteString(literal)
			return
		}
	}
	w.WriteByte(' ')
	w.inline(v)
}

// entries writes a mapping with its keys in column; with started the first
// key's line is already indented.
func (w *blockWriter) entries(column int, m Map, started bool) {
	for i, p := range m {
		if i > 0 {
			w.WriteByte('\n')
		}
		if i > 0 || !started {
			w.pad(column)
		}
		w.entry(column, p)
	}
}

func (w *blockWriter) items(column int, list []any) {
	for i, v := range list {
		if i > 0 {
			w.WriteByte('\n')
		}
		w.pad(column)
		w.item(column, w.style.width, v)
	}
}

// item writes a dash in column, width columns wide, and the item after it.
func (w *blockWriter) item(column, width int, v any) {
	w.WriteByte('-')
	w.pad(width - 1)
	switch v := v.(type) {
	case Map:
		if len(v) > 0 {
			w.entries(column+width, v, true)
			return
		}
	case string:
		if literal, ok := literalBlock(v, column+width, width); ok {
			w.WriteString(literal)
			return
		}
	}
	w.inline(v)
}

// inline writes what fits after a colon or dash: a scalar or a flow collection.
func (w *blockWriter) inline(v any) {
	f := flowWriter{style: w.style}
	f.value(v)
	w.WriteString(f.String())
}

func (w *blockWriter) scalar(v any) string { return scalarText(v, w.style.quote, false) }

func (w *blockWriter) pad(n int) { w.WriteString(strings.Repeat(" ", max(n, 0))) }

// literalBlock writes text of several lines as a literal scalar. It declines
// what such a scalar cannot hold, or holds only in ways that are hard to read.
func literalBlock(v string, column, step int) (string, bool) {
	if !strings.Contains(v, "\n") || strings.TrimSpace(v) == "" || !printable(v) {
		return "", false
	}
	header, body := "|-", v
	if strings.HasSuffix(v, "\n") {
		header, body = "|", strings.TrimSuffix(v, "\n")
		if strings.HasSuffix(body, "\n") {
			header = "|+"
		}
	}
	if first := strings.TrimLeft(v, "\n"); first[0] == ' ' || first[0] == '\t' || first != v {
		if step > 9 {
			return "", false
		}
		header = header[:1] + strconv.Itoa(step) + header[1:]
	}
	return header + "\n" + indentLines(body, strings.Repeat(" ", column)), true
}

// indentLines puts indent in front of every line that is not empty.
func indentLines(text, indent string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = indent + l
		}
	}
	return strings.Join(lines, "\n")
}

// printable reports whether every rune is allowed in a plain or literal scalar
// of every reader.
func printable(s string) bool {
	for _, r := range s {
		if r != '\n' && r != '\t' && (!unicode.IsPrint(r) || r == '\ufeff') {
			return false
		}
	}
	return true
}

// flowWriter renders values in flow style or JSON: on one line, or with every
// member on a line of its own.
type flowWriter struct {
	style *style
	lines bool // a member a line
	strings.Builder
}

func (w *flowWriter) value(v any) { w.at(0, v) }

// at writes v; column is where a member that holds v starts.
func (w *flowWriter) at(column int, v any) {
	switch v := v.(type) {
	case Map:
		w.members('{', '}', column, len(v), func(i int) { w.entry(column+w.style.step, v[i]) })
	case []any:
		w.members('[', ']', column, len(v), func(i int) { w.at(column+w.style.step, v[i]) })
	default:
		w.WriteString(w.scalar(v))
	}
}

func (w *flowWriter) entry(column int, p Pair) {
	w.WriteString(w.scalar(p.Key))
	w.WriteString(w.style.colon)
	w.at(column, p.Value)
}

func (w *flowWriter) members(open, closing byte, column, n int, member func(int)) {
	w.WriteByte(open)
	for i := range n {
		switch {
		case w.lines:
			w.WriteString("\n" + strings.Repeat(w.style.blank, column+w.style.step))
		case i > 0:
			w.WriteString(strings.TrimPrefix(w.style.comma, ","))
		}
		member(i)
		if i < n-1 {
			w.WriteByte(',')
		}
	}
	if w.lines && n > 0 {
		w.WriteString("\n" + strings.Repeat(w.style.blank, column))
	}
	w.WriteByte(closing)
}

func (w *flowWriter) scalar(v any) string {
	if w.style.json {
		return JSON(v)
	}
	return scalarText(v, w.style.quote, true)
}

// JSON returns a value as JSON on one line, without escaping <, > and &.
func JSON(v any) string { return strings.TrimSuffix(encoded(v, ""), "\n") }

// IndentedJSON returns a value as JSON on lines of its own, without escaping <, > and &.
func IndentedJSON(v any) string { return encoded(v, "  ") }

func encoded(v any, indent string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		panic(err) // values of documents always encode, and what else is written was read as JSON
	}
	return b.String()
}

// scalarText writes a scalar on one line, plain where every reader takes it for
// what it is.
func scalarText(v any, quote byte, flow bool) string {
	s, ok := v.(string)
	if !ok {
		return JSON(v)
	}
	if plainSafe(s, flow) {
		return s
	}
	return quoted(s, quote)
}

func quoted(s string, quote byte) string {
	if quote == '\'' && printable(s) && !strings.ContainsAny(s, "\n\t") {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return JSON(s)
}

// plainSafe reports whether s can be written without quotes: it has no
// indicator, and no reader, YAML 1.1 or 1.2, that sees anything but a string.
func plainSafe(s string, flow bool) bool {
	if s == "" || s != strings.TrimSpace(s) || !printable(s) || strings.ContainsAny(s, "\n\t") {
		return false
	}
	if strings.ContainsRune("!&*?|>%@`\"'#,[]{}-:", rune(s[0])) && !plainDash(s) {
		return false
	}
	if strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.HasSuffix(s, ":") {
		return false
	}
	if flow && strings.ContainsAny(s, ",[]{}") {
		return false
	}
	if s == "---" || s == "..." || maybeWord(s) {
		return false
	}
	return plainValue(s) == s
}

// plainDash allows arguments such as --enable-leader-migration=true.
func plainDash(s string) bool { return len(s) > 1 && s[0] == '-' && s[1] != ' ' }

// maybeWord names YAML 1.1's words, which the readers differ about.
func maybeWord(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "<<", "=":
		return true
	}
	return false
}
