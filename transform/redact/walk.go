// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// secrets walks over what a document has in a range of its text, and returns splices that hide its secrets there,
// but for those that shapes finds in the text. An alias may give a secret to any range.
func secrets(d *yamledit.Document, in span) []yamledit.Splice {
	w := walker{doc: d, in: in}
	if bytes.IndexByte(d.Bytes(), '*') >= 0 && bytes.IndexByte(d.Bytes(), '&') >= 0 {
		w.in = span{0, len(d.Bytes())}
	}
	switch {
	case bytes.HasPrefix(d.Bytes(), []byte("#cloud-config")):
		w.hideAll(d.Root())
	case d.Root().Exists():
		w.node(d.Root(), "")
	}
	return w.splices
}

type walker struct {
	doc     *yamledit.Document
	in      span
	splices []yamledit.Splice
}

// reaches reports whether child i, with the comments after it, may be in the range.
func (w *walker) reaches(children []yamledit.Node, i int) bool {
	if start, written := children[i].Start(); written && start >= w.in.end {
		return false
	}
	if i+1 == len(children) {
		return true
	}
	next, written := children[i+1].Start()
	return !written || next > w.in.start
}

// node hides the secrets in n. key is that of the closest mapping around it.
func (w *walker) node(n yamledit.Node, key string) {
	switch {
	case n.IsScalar():
		w.scalar(n, key)
	case n.IsList():
		w.list(n, key)
	case n.IsMap():
		w.mapping(n)
	}
}

func (w *walker) list(n yamledit.Node, key string) {
	children := n.Children()
	for i, c := range children {
		switch {
		case !w.reaches(children, i):
		case i > 0 && announces(children[i-1], c):
			w.hide(c, refers)
		default:
			w.node(c, key)
		}
	}
}

func (w *walker) mapping(n yamledit.Node) {
	children := n.Children()
	kind, secretValue, pair := heading(children)
	isSecret := kind == "Secret" || kind == "SecretList"
	for i, c := range children {
		switch key := c.Key(); {
		case !w.reaches(children, i):
		case isSecret && (key == "data" || key == "stringData"):
			w.hideData(c)
		case kind == "SecretList" && key == "items":
			for _, item := range c.Items() {
				w.hideData(item.Get("data"))
				w.hideData(item.Get("stringData"))
				w.node(item, key)
			}
		case secretValue && among(values, key), pair && strings.EqualFold(key, "key"):
			w.hide(c, refers)
		case isCloudConfig(key):
			w.settings(c)
		case secretKey(key) && !describesItself(c):
			w.hide(c, refers)
		default:
			w.node(c, key)
		}
	}
}

// What is next to what, in any case: a value to its name, and a private key to its certificate.
var (
	headings     = []string{"name", "key", "header", "parameterKey", "parameterName"}
	values       = []string{"value", "values", "parameterValue"}
	certificates = []string{"cert", "crt", "ca_cert", "caCert", "client_cert", "clientCert", "certificate"}
)

func among(names []string, key string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, key) })
}

// heading returns the kind of a manifest, whether the value next to a name, as of an environment variable, is a secret,
// and whether a key is one of a certificate.
func heading(children []yamledit.Node) (kind string, secretValue, pair bool) {
	for _, c := range children {
		switch key := c.Key(); {
		case key == "kind":
			kind, _ = c.String()
		case among(headings, key):
			name, ok := c.String()
			secretValue = secretValue || ok && secretKey(name)
		default:
			pair = pair || among(certificates, key)
		}
	}
	return kind, secretValue, pair
}

// describesItself reports whether the name of a secret is that of a mapping which says more
// about itself: which Secret a volume mounts, how an API server authorizes.
func describesItself(n yamledit.Node) bool {
	return n.IsMap() && (n.Get("secretName").Exists() || strings.EqualFold(n.Key(), "authorization"))
}

// announces reports whether an item is a flag or a variable whose value, a secret, is the next item.
func announces(n, next yamledit.Node) bool {
	text, _ := n.String()
	value, _ := next.String()
	name := strings.TrimLeft(text, "-")
	switch {
	case strings.ContainsAny(name, "= "):
		return false
	case text == "-p":
		return !plainArgument(value)
	case name == text:
		return isVariable(name) && !isVariable(value)
	}
	return secretKey(name)
}

// isVariable reports whether a word is the name of a variable that holds a secret.
func isVariable(name string) bool {
	return name == strings.ToUpper(name) && name != strings.ToLower(name) && secretKey(name)
}

// hide covers the scalars in n, except those below it that are kept.
func (w *walker) hide(n yamledit.Node, kept func(yamledit.Node) bool) {
	for _, c := range n.Children() {
		if !c.IsScalar() || !kept(c) {
			w.hide(c, kept)
		}
	}
	w.cover(n)
}

// hideAll covers every scalar in n.
func (w *walker) hideAll(n yamledit.Node) { w.hide(n, func(yamledit.Node) bool { return false }) }

// refers reports whether the value of a key names an object, and is no secret.
func refers(n yamledit.Node) bool {
	if n.Key() == "key" && n.Parent().Get("path").Exists() { // of a file in a volume
		return true
	}
	if n.Key() != "apiVersion" && namingOf(n.Key()) != reference {
		return false
	}
	if v, isText := n.String(); isText {
		return refersByName(strings.ToLower(v))
	}
	return true
}

func (w *walker) cover(n yamledit.Node) {
	if !n.IsScalar() {
		return
	}
	switch v := n.Value().(type) {
	case nil, bool:
		return
	case string:
		if harmless(v) {
			return
		}
	}
	start, end := n.Span()
	w.splices = append(w.splices, w.coverScalar(start, end))
}

// coverScalar keeps quotes and the header of a block scalar.
func (w *walker) coverScalar(start, end int) yamledit.Splice {
	text := w.doc.Bytes()
	if i := bytes.IndexAny(text[start:end], "\r\n"); i >= 0 && (text[start] == '|' || text[start] == '>') {
		return cover(text, start+i, end)
	}
	if q := text[start]; end-start >= 2 && (q == '"' || q == '\'') {
		return cover(text, start+1, end-1)
	}
	return cover(text, start, end)
}

// hideData covers the data of a Secret, and the comments in and below it.
func (w *walker) hideData(n yamledit.Node) {
	if !n.Exists() {
		return
	}
	w.hideAll(n)
	if n.Len() == 0 {
		return
	}
	text := w.doc.Bytes()
	start, end := n.Span()
	start = lineStart(text, start)
	column := bytes.IndexFunc(text[start:], func(r rune) bool { return r != ' ' })
	if key, written := n.Start(); written { // comments may be before the first entry
		start = min(start, lineEnd(text, key))
	}
	for start < len(text) {
		line := lineAt(text, start)
		body := bytes.TrimLeft(line, " ")
		if start > end && (len(line)-len(body) < column || len(body) > 0 && body[0] != '#' && body[0] != '\r') {
			return
		}
		stop := start + len(line)
		if bytes.HasPrefix(body, []byte("#")) {
			w.splices = append(w.splices, cover(text, stop-len(body)+1, stop))
		}
		start = stop + 1
	}
}
