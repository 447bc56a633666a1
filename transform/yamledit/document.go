// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Document is one parsed YAML document: immutable bytes and their node tree.
type Document struct {
	chunk Chunk
	root  *yaml.Node // nil for a document without content
	outer *yaml.Node // root, or the list that holds it
	json  bool
	flat  bool // the text of a string on one line: every line is the first
	lines func() *lineIndex
	style func() *style
	texts *texts // in its strings
	// strings is how many strings hold the document, each in a document of its own.
	strings int

	comments func() []comment
	aliases  func() map[*yaml.Node][]*yaml.Node // of anchored nodes
	derived  memory
}

// Parse reads one document. It fails with an *Error for text that is not UTF-8
// YAML, and for duplicate keys, which readers disagree about.
func Parse(c Chunk) (*Document, error) {
	if err := checkText(c); err != nil {
		return nil, err
	}
	root, err := parseTree(c.Bytes)
	if err != nil {
		return nil, parseError(c, err)
	}
	d := &Document{chunk: c, root: root, outer: root, texts: &texts{}}
	d.lines = sync.OnceValue(func() *lineIndex { return indexLines(c.Bytes) })
	d.style = sync.OnceValue(func() *style { return detectStyle(d) })
	d.comments = sync.OnceValue(func() []comment { return findComments(d) })
	d.aliases = sync.OnceValue(func() map[*yaml.Node][]*yaml.Node { return findAliases(root) })
	d.json = root != nil && isJSON(c.Bytes)
	for _, check := range []func() error{d.checkNesting, d.checkKeys, d.checkAliases, d.checkMerges} { // the first one bounds the others
		if err := check(); err != nil {
			return nil, err
		}
	}
	d.removeItem()
	d.parsed(len(c.Bytes))
	return d, nil
}

// ParseString parses text that holds one document, for callers without a file. Many ask
// for the same few texts.
func ParseString(file, text string) (*Document, error) {
	c := Chunk{File: file, Bytes: []byte(text)}
	d, err := common.parse(c)
	if err != nil {
		return nil, err
	}
	return d.as(c, false, &texts{}), nil
}

// Bytes returns the document's text. The caller must not change it.
func (d *Document) Bytes() []byte { return d.chunk.Bytes }

// Chunk returns the document's text and its place in the stream.
func (d *Document) Chunk() Chunk { return d.chunk }

// File returns the name under which the document was parsed.
func (d *Document) File() string { return d.chunk.File }

// IsJSON reports whether the document is written as JSON.
func (d *Document) IsJSON() bool { return d.json }

// Root returns the top node; it does not exist in an empty document.
func (d *Document) Root() Node { return Node{doc: d, y: d.root, at: d.root} }

func (d *Document) errorAt(n *yaml.Node, what, do string) *Error {
	return &Error{File: d.chunk.File, Line: d.fileLine(n), What: what, Do: do}
}

// fileLine returns the 1-based line of the file at which n starts.
func (d *Document) fileLine(n *yaml.Node) int {
	if n == nil || n.Line == 0 || d.flat {
		return d.chunk.Line + 1
	}
	return d.chunk.Line + n.Line
}

// checkText refuses what no YAML reader of Kubernetes accepts as text.
func checkText(c Chunk) error {
	b := c.Bytes
	if bytes.HasPrefix(b, []byte("\xff\xfe")) || bytes.HasPrefix(b, []byte("\xfe\xff")) {
		return &Error{File: c.File, Line: c.Line + 1, What: "the text is UTF-16", Do: "save the file as UTF-8"}
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return &Error{File: c.File, Line: c.Line + 1 + CountLines(b[:i]), What: "the file is binary: it contains a NUL byte", Do: "name a YAML or JSON file"}
	}
	if !utf8.Valid(b) {
		i := 0
		for r, n := utf8.DecodeRune(b); r != utf8.RuneError || n != 1; r, n = utf8.DecodeRune(b[i:]) {
			i += n
		}
		return &Error{File: c.File, Line: c.Line + 1 + CountLines(b[:i]), What: "the text is not valid UTF-8", Do: "save the file as UTF-8"}
	}
	return nil
}

// parseTree parses exactly one document; the tree of an empty one is nil. A
// panic of the parser on hostile input becomes an error.
func parseTree(b []byte) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("the YAML parser failed: %v", r)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(plainJSON(b)))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var rest yaml.Node
	if err := dec.Decode(&rest); !errors.Is(err, io.EOF) {
		if err == nil {
			err = fmt.Errorf("line %d: a second document, which kubectl does not read because no line of --- begins it", rest.Line)
		}
		return nil, err
	}
	if len(doc.Content) == 0 || !hasText(doc.Content[0]) {
		return nil, nil
	}
	return doc.Content[0], nil
}

var (
	errorLine  = regexp.MustCompile(`line (\d+): `)
	anchorName = regexp.MustCompile(`anchor '(.*?)'`) // a value that starts with an asterisk, for one
)

// oneLow are the errors of the parser, as opposed to the scanner, whose line
// numbers go.yaml.in/yaml/v3 prints without counting from one.
var oneLow = []string{
	"did not find expected node content", "did not find expected '-' indicator", "did not find expected key",
	"did not find expected ',' or", "did not find expected <document start>", "found undefined tag handle", "found duplicate",
}

// parseError moves the parser's line number into the file.
func parseError(c Chunk, err error) *Error {
	line, what := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := errorLine.FindStringSubmatch(what); m != nil {
		line, _ = strconv.Atoi(m[1])
		what = strings.Replace(what, m[0], "", 1)
		if slices.ContainsFunc(oneLow, func(s string) bool { return strings.HasPrefix(what, s) }) {
			line++
		}
	} else if i := unnumbered(c.Bytes, what); i >= 0 {
		line = 1 + CountLines(c.Bytes[:i])
	}
	what = anchorName.ReplaceAllString(what, "anchor")
	e := &Error{File: c.File, Line: c.Line + line, What: "not YAML: " + what, Do: "correct the syntax"}
	lines := strings.Split(string(c.Bytes), "\n")
	for _, text := range lines[min(max(line-2, 0), len(lines)):min(line, len(lines))] { // the error may be in front of the next line
		if fill := placeholder(text); fill != "" {
			e.What, e.Do = "not YAML: "+unfilled, fill
		}
	}
	return e
}

// unnumbered finds the place of an error for which the library gives no line:
// an alias without its anchor, or a control character. It returns -1 for others.
func unnumbered(text []byte, what string) int {
	if m := anchorName.FindStringSubmatch(what); m != nil {
		return bytes.Index(text, []byte("*"+m[1]))
	}
	if strings.Contains(what, "control characters") {
		return bytes.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r) })
	}
	return -1
}

// checkKeys refuses keys that are not what their text shows, and equal keys of one mapping.
func (d *Document) checkKeys() error {
	for n := range tree(d.root) {
		if n.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i < len(n.Content); i += 2 {
			if k := n.Content[i]; k.Kind == yaml.AliasNode || k.Style&yaml.TaggedStyle != 0 {
				return d.errorAt(k, "a key is an alias or has a tag, which hides it from readers", "write the key as text")
			}
		}
		if k := duplicateIn(n); k != nil {
			return d.errorAt(k, fmt.Sprintf("the key %q is duplicated in one mapping", clip(k.Value)), "remove one of the two; YAML parsers disagree on which one takes effect")
		}
	}
	return nil
}

// duplicateIn returns the second of two equal keys of a mapping, or nil.
func duplicateIn(m *yaml.Node) *yaml.Node {
	const few = 12
	if len(m.Content) <= 2*few { // no allocation for the usual small mapping
		for i := 2; i < len(m.Content); i += 2 {
			for j := 0; j < i; j += 2 {
				if sameKey(m.Content[i], m.Content[j]) {
					return m.Content[i]
				}
			}
		}
		return nil
	}
	seen := make(map[string]*yaml.Node, len(m.Content)/2)
	for i := 0; i < len(m.Content); i += 2 {
		k := m.Content[i]
		if k.Kind != yaml.ScalarNode {
			continue
		}
		if _, twice := seen[keyText(k)]; twice {
			return k
		}
		seen[keyText(k)] = k
	}
	return nil
}

// sameKey compares keys as JSON has them: 7 and 007 are one.
func sameKey(a, b *yaml.Node) bool {
	if a.Kind != yaml.ScalarNode || b.Kind != yaml.ScalarNode {
		return false
	}
	return a.Value == b.Value || maybeTyped(a.Value) && maybeTyped(b.Value) && keyText(a) == keyText(b)
}

// isJSON reports whether the text starts like a JSON object or list; what is
// inserted is then written as JSON.
func isJSON(b []byte) bool {
	b = bytes.TrimLeft(bytes.TrimPrefix(b, []byte(bom)), " \t\r\n")
	if len(b) == 0 || b[0] != '{' && b[0] != '[' {
		return false
	}
	b = bytes.TrimLeft(b[1:], " \t\r\n")
	return len(b) > 0 && bytes.IndexByte([]byte(`"{[}]`), b[0]) >= 0
}

// clip keeps a key short in a message.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// LineStart returns the offset in the document at which a line of the file
// starts.
func (d *Document) LineStart(line int) int { return d.lines().start(max(line-1-d.chunk.Line, 0)) }

// LineOf returns the line of the file that holds an offset of the document.
func (d *Document) LineOf(off int) int { return d.chunk.Line + 1 + d.lines().of(off) }

// Error says where a document cannot be read or safely edited, what is wrong
// and what to do. It never quotes a value of the document.
type Error struct {
	File string // as given to Parse
	Line int    // 1-based line in the file; 0 when no line is the cause
	What string
	Do   string

	cause error // ErrTooDeep, or nil
}

func (e *Error) Unwrap() error { return e.cause }

func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s += ":" + strconv.Itoa(e.Line)
	}
	s += ": " + e.What
	if e.Do != "" {
		s += "; " + e.Do
	}
	return s
}
