// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// texts are those that are stored once, by name: of/kind, of/kind-2 and so on.
type texts struct {
	said  map[string]string
	names map[group]map[string]string // by text
	all   map[string]bool             // by text
}

func newTexts(said map[string]string) texts {
	t := texts{said, map[group]map[string]string{}, map[string]bool{}}
	for name, text := range said {
		g := groupOf(name)
		if t.names[g] == nil {
			t.names[g] = map[string]string{}
		}
		t.names[g][text], t.all[text] = name, true
	}
	return t
}

const aboutTexts = "The texts of stages and rules. Cases name these texts: «switch-to-external/why». Rewritten by: make golden\n\n"

// number is that of a text in its group.
var number = regexp.MustCompile(`-\d+$`)

func groupOf(name string) group {
	of, kind := path.Split(name)
	return group{strings.TrimSuffix(of, "/"), number.ReplaceAllString(kind, "")}
}

func (g group) name(number int) string {
	if number == 1 {
		return g.String()
	}
	return fmt.Sprintf("%s-%d", g, number)
}

// place returns the reference of a case to a text of a group, or "".
func (t texts) place(g group, text string) string {
	text, values := withoutValues(text)
	name := t.names[g][text]
	if name == "" {
		return ""
	}
	return placeOf(strings.Join(append([]string{name}, values...), " "))
}

func (t texts) known(text string) bool {
	text, _ = withoutValues(text)
	return t.all[text]
}

// onOneLine reports whether texts are printed on one line, however long: commands, to be copied, and errors.
func onOneLine(g group) bool { return g.kind == kindCommand || g.of == groupWrong.of }

// caseValue is what a text says of one cluster: its name, and releases of Kubernetes.
var caseValue = regexp.MustCompile(`(?:cordoned=|run=|rkecontrolplanes\.rke\.cattle\.io/|ConfigMap )([a-z0-9][a-z0-9/.-]*[a-z0-9])|\b(v1\.\d+[0-9A-Za-z.+-]*[0-9A-Za-z])`)

// valueHere is in a text where the case has a value.
const valueHere = "«»"

// withoutValues returns what texts about several clusters have in common, and the values of this one.
func withoutValues(text string) (common string, values []string) {
	var b strings.Builder
	at := 0
	for _, m := range caseValue.FindAllStringSubmatchIndex(text, -1) {
		start, end := max(m[2], m[4]), max(m[3], m[5])
		b.WriteString(text[at:start] + valueHere)
		values, at = append(values, text[start:end]), end
	}
	return b.String() + text[at:], values
}

// fill writes the texts into their places.
func (t texts) fill(text string) (string, error) {
	var wrong error
	whole := reference.ReplaceAllStringFunc(text, func(place string) string {
		words := strings.Fields(strings.Trim(place, marks))
		said, there := t.said[nameIn(place)]
		if !there || strings.Count(said, valueHere) != len(words)-1 {
			wrong = fmt.Errorf("%s.txtar has no %s", textsName, place)
			return ""
		}
		for _, value := range words[1:] {
			said = strings.Replace(said, valueHere, value, 1)
		}
		return said
	})
	return whole, wrong
}

// nameIn is the name of the text to which a place refers.
func nameIn(place string) string {
	name, _, _ := strings.Cut(strings.Trim(place, marks), " ")
	return name
}

func (t texts) archive() ([]byte, error) {
	a := txtar.Archive{Comment: []byte(aboutTexts)}
	names := slices.SortedFunc(maps.Keys(t.said), func(a, b string) int {
		return cmp.Or(cmp.Compare(groupOf(a).String(), groupOf(b).String()), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	for _, name := range names {
		f, err := member(name, t.said[name]+"\n")
		if err != nil {
			return nil, err
		}
		a.Files = append(a.Files, f)
	}
	return txtar.Format(&a), nil
}

// error returns an error with references in place of its parts.
func (t texts) error(text string) string {
	m := errorText.FindStringSubmatch(text)
	return m[1] + otherwise(t.place(groupWrong, m[2]), m[2]) + m[3] + otherwise(t.place(groupRemedy, m[4]), m[4])
}
