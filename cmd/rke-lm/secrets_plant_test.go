// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"text/template"

	sigsyaml "sigs.k8s.io/yaml"
)

// planter makes secrets of one kind and remembers where they are.
type planter struct {
	kind   secretKind
	places []string // by serial
}

func (p *planter) next(place string) string {
	p.places = append(p.places, place)
	return p.kind.make(len(p.places) - 1)
}

// scalar writes a value in YAML.
func scalar(v string) string {
	if strings.ContainsAny(v, "\n{[,~ ") {
		return strconv.Quote(v)
	}
	return v
}

func lines(v string, indent int, prefix string) string {
	return strings.ReplaceAll(v, "\n", "\n"+strings.Repeat(" ", indent)+prefix)
}

// plant returns the document with secrets of the kind in it.
func plant(t *testing.T, text string, kind secretKind) (string, *planter) {
	t.Helper()
	p := &planter{kind: kind}
	bare := func(place string) string {
		if !kind.bare {
			return "none"
		}
		return p.next(place)
	}
	funcs := template.FuncMap{
		"key":        func() string { return kind.key },
		"value":      func(place string) string { return scalar(p.next(place)) },
		"pair":       func(place string) string { return kind.key + ": " + scalar(p.next(place)) },
		"jsonPair":   func(place string) string { return strconv.Quote(kind.key) + ":" + strconv.Quote(p.next(place)) },
		"assign":     func(place string) string { return scalar(kind.key + "=" + p.next(place)) },
		"assignFlow": func(place string) string { return strconv.Quote(kind.key + "=" + p.next(place)) },
		"ini":        func(place string, indent int) string { return kind.key + " = " + lines(p.next(place), indent, "  ") },
		"text":       func(place string, indent int) string { return lines(p.next(place), indent, "  ") },
		"note":       func(place string, indent int) string { return kind.key + ": " + lines(p.next(place), indent, "# ") },
		"bare":       func(place string) string { return scalar(bare(place)) },
		"raw":        p.next,
		"plain":      func(place string) string { return strings.ReplaceAll(bare(place), "\n", `\n`) },
	}
	var b bytes.Buffer
	if err := template.Must(template.New("").Funcs(funcs).Parse(text)).Execute(&b, nil); err != nil {
		t.Fatal(err)
	}
	return b.String(), p
}

// marks returns the serials of the secrets in a text.
func marks(text string) map[int]bool {
	found := map[int]bool{}
	for _, m := range secretMark.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		found[n] = true
	}
	return found
}

// requireNone fails for every secret in what a command printed.
func (p *planter) requireNone(t *testing.T, printed, what string) {
	t.Helper()
	seen := map[int]bool{}
	for line := range strings.Lines(printed) {
		for n := range marks(line) {
			if !seen[n] {
				seen[n] = true
				t.Errorf("%s shows %s from %s:\n%s", what, p.kind.name, p.places[n], shorten(line, fmt.Sprintf("%04d", n)))
			}
		}
	}
}

// shorten keeps of a long line what is around a word.
func shorten(line, word string) string {
	const most = 100
	i := max(0, strings.Index(line, word)-most/2)
	return strings.TrimRight(line[i:min(len(line), i+most)], "\n")
}

// spelling is one way to write a cluster.
type spelling struct {
	name, file string
	write      func(t *testing.T, yaml string) string
	comments   bool // whether it keeps them
}

var spellings = []spelling{
	{"YAML", "cluster.yaml", func(_ *testing.T, s string) string { return s }, true},
	{"YAML with CRLF", "cluster.yaml", func(_ *testing.T, s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }, true},
	{"JSON", "cluster.json", asJSON("  "), false},
	{"JSON on one line", "cluster.json", asJSON(""), false},
}

func asJSON(indent string) func(*testing.T, string) string {
	return func(t *testing.T, s string) string {
		t.Helper()
		text, err := sigsyaml.YAMLToJSON([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		if indent == "" {
			return string(text) + "\n"
		}
		var b bytes.Buffer
		if err := json.Indent(&b, text, "", indent); err != nil {
			t.Fatal(err)
		}
		return b.String() + "\n"
	}
}
