// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// scalar looks into a string: for manifests, for lines that assign a secret, and
// for an argument whose value is one.
func (w *walker) scalar(n yamledit.Node, key string) {
	text, ok := n.String()
	if !ok || text == "" {
		return
	}
	if passwordLike(text) || n.Key() != "" && hexKey(key, text) {
		w.cover(n)
		return
	}
	if strings.Contains(text, "\n") || structured(text) {
		in, err := n.Embedded()
		if err == nil {
			w.inside(n, embedded(in))
			return
		}
		if errors.Is(err, yamledit.ErrTooDeep) { // no one looked into it
			w.cover(n)
			return
		}
	}
	w.inside(n, covers([]byte(text), w.within(n, text)))
	w.folded(n, text)
}

// folded reads the lines of a string that are joined to one.
func (w *walker) folded(n yamledit.Node, text string) {
	start, end := n.Span()
	raw := w.doc.Bytes()[start:end]
	if bytes.Count(raw, []byte("\n")) <= strings.Count(text, "\n")+1 {
		return
	}
	for _, s := range assignments(raw, false) {
		w.splices = append(w.splices, cover(w.doc.Bytes(), start+s.start, start+s.end))
	}
}

// within returns the secrets in the text of a string. Where the text is in the
// document unchanged, shapes are looked for in the document.
func (w *walker) within(n yamledit.Node, text string) []span {
	start, end := n.Span()
	raw := w.doc.Bytes()[start:end]
	if bytes.Contains(raw, []byte(text)) {
		return assignments([]byte(text), false)
	}
	return freeText([]byte(text))
}

// structured reports whether a text on one line may be JSON or a mapping.
func structured(text string) bool {
	text = strings.TrimLeft(text, " \t")
	return len(text) > 4 && (text[0] == '{' || text[0] == '[') && strings.ContainsAny(text, `:,`) || strings.HasPrefix(text, "--- ")
}

// inside hides parts of a string.
func (w *walker) inside(n yamledit.Node, inner []yamledit.Splice) {
	if len(inner) == 0 {
		return
	}
	text, _ := n.String()
	inner = disjoint([]byte(text), inner)
	if outer, err := n.Outer(inner); err == nil {
		w.splices = append(w.splices, outer...)
		return
	}
	start, end := n.Span()
	if string(w.doc.Bytes()[start:end]) != text { // folded, or quoted over several lines
		w.splices = append(w.splices, w.coverScalar(start, end))
		return
	}
	for _, s := range inner {
		w.splices = append(w.splices, yamledit.Splice{Start: start + s.Start, End: start + s.End, New: s.New})
	}
}

// embedded returns splices of a stream that hide its secrets.
func embedded(in *yamledit.Embedded) []yamledit.Splice {
	var all []yamledit.Splice
	for _, d := range in.Documents() {
		for _, s := range inString(d) {
			s.Start += d.Chunk().Offset
			s.End += d.Chunk().Offset
			all = append(all, s)
		}
	}
	return all
}

// inString returns the splices that hide the secrets of a document in a string, which
// follow from its text alone. One that is no mapping and no list is text: as a document
// it may be its own only string.
func inString(d *yamledit.Document) []yamledit.Splice {
	type hidden []yamledit.Splice
	return yamledit.Recall(d, d.Bytes(), func() hidden {
		if d.Root().IsMap() || d.Root().IsList() {
			return secretsAndShapes(d, span{0, len(d.Bytes())})
		}
		return covers(d.Bytes(), freeText(d.Bytes()))
	})
}

// isCloudConfig recognizes the keys that hold a provider's configuration, credentials
// included.
func isCloudConfig(key string) bool {
	if len(key) < len("cloudproviderconfig") || len(key) > 32 {
		return key == "cloud.conf"
	}
	flat := flatten(key)
	return flat == "cloudproviderconfig" || flat == "customcloudprovider"
}

// plainSetting are values that the AWS provider's settings have and no secret has:
// zones, IDs, roles, endpoints.
var plainSetting = regexp.MustCompile(`^(?:[a-z]{2}(?:-[a-z]+)+-\d[a-z]?|(?:vpc|subnet|rtb|sg)-[0-9a-f]{8,17}|arn:aws[a-z-]*:iam::\d+:role/[A-Za-z0-9/_+=,.-]{1,80}|` +
	`ipv[46]|ec2|elasticloadbalancing|https://[a-z0-9.-]+(?::\d+)?/?)$`)

// plainSettingOf reports whether the value of a setting is no secret. The names of
// clusters have no form of their own.
func plainSettingOf(name string, value []byte) bool {
	switch strings.ToLower(name) {
	case "kubernetesclusterid", "kubernetesclustertag":
		return refersByName(string(value))
	}
	return plainSetting.Match(value) && !anyRandom(value)
}

// settings hides the values of a provider's configuration. Sections and names stay,
// so that a change of them can be reviewed.
func (w *walker) settings(n yamledit.Node) {
	text, ok := n.String()
	if !ok {
		w.hideAll(n)
		return
	}
	if harmless(text) {
		return
	}
	if !strings.ContainsAny(text, "\n=") {
		w.cover(n)
		return
	}
	var spans []span
	start := 0
	for line := range strings.Lines(text) {
		if s := hiddenOf([]byte(line)); s.start < s.end {
			spans = append(spans, span{start + s.start, start + s.end})
		}
		start += len(line)
	}
	w.inside(n, covers([]byte(text), spans))
}

var setting = regexp.MustCompile(`^([A-Za-z0-9_.-]{1,40})\s*[=:][ \t]*([^= \t].*)$`)

// hiddenOf returns what is hidden of a line: the value of a setting that may hold a
// secret, and all that is neither a setting nor a section.
func hiddenOf(line []byte) span {
	body := bytes.Trim(line, " \t\r\n")
	if len(body) == 0 || body[0] == '[' && body[len(body)-1] == ']' && len(body) < 64 {
		return span{}
	}
	start := bytes.Index(line, body)
	m := setting.FindSubmatchIndex(body)
	if m == nil || anyRandom(body[:m[3]]) {
		return span{start, start + len(body)}
	}
	value := body[m[4]:]
	if harmless(string(value)) || plainSettingOf(string(body[:m[3]]), value) {
		return span{}
	}
	return span{start + m[4], start + len(body)}
}
