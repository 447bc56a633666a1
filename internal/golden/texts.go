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

const aboutTexts = "What stages and rules say. Cases name these texts: «switch-to-external/why». Rewritten by: make golden\n\n"

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

// place returns what stands for a text of a group in a case, or "".
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

// nameIn is the name of the text for which a place stands.
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

// said counts in how many cases something is said.
type said map[group]map[string]int

// atOnce is in how many cases a rule may say something without a place of its own: that which shows it,
// and that which nearly does.
const atOnce = 2

// nameTexts names what the cases say alike. What is said as before keeps its name; of what is not, the
// name goes to what is most like it, so a changed word changes one text and no case.
func nameTexts(old texts, cases map[string]Case) texts {
	all, stages, in := said{}, map[string]bool{}, map[group]int{}
	programs := said{}
	for _, c := range cases {
		for file, text := range c.Outputs() {
			collect(programs, stages, file, text, nil)
		}
	}
	known := programs.texts()
	for _, c := range cases {
		here := said{}
		for file, text := range c.Outputs() {
			collect(here, stages, file, text, known)
		}
		for g, list := range here {
			in[g]++
			for text := range list {
				common, _ := withoutValues(text)
				all.add(g, common)
			}
		}
	}
	named := map[string]string{}
	for g, list := range all {
		if g == groupWrong || g == groupRemedy {
			maps.DeleteFunc(list, func(_ string, cases int) bool { return cases <= atOnce })
		} else if !stages[g.of] && in[g] <= atOnce {
			continue
		}
		nameGroup(named, old, g, list)
	}
	return newTexts(named)
}

func (s said) add(g group, text string) {
	if s[g] == nil {
		s[g] = map[string]int{}
	}
	s[g][text]++
}

func (s said) addError(text string) {
	m := errorText.FindStringSubmatch(text)
	s.add(groupWrong, m[2])
	if m[4] != "" {
		s.add(groupRemedy, m[4])
	}
}

// error returns an error with what stands for its parts.
func (t texts) error(text string) string {
	m := errorText.FindStringSubmatch(text)
	return m[1] + otherwise(t.place(groupWrong, m[2]), m[2]) + m[3] + otherwise(t.place(groupRemedy, m[4]), m[4])
}

func nameGroup(named map[string]string, old texts, g group, list map[string]int) {
	var fresh, free []string
	for text := range list {
		if name := old.names[g][text]; name != "" {
			named[name] = text
		} else {
			fresh = append(fresh, text)
		}
	}
	for name := range old.said {
		if _, kept := named[name]; !kept && groupOf(name) == g {
			free = append(free, name)
		}
	}
	slices.SortFunc(fresh, func(a, b string) int { return cmp.Or(list[b]-list[a], cmp.Compare(a, b)) })
	slices.Sort(free)
	for len(fresh) > 0 && len(free) > 0 {
		best, f, n := -1, 0, 0
		for i, text := range fresh {
			for j, name := range free {
				if like := alike(text, old.said[name]); like > best {
					best, f, n = like, i, j
				}
			}
		}
		named[free[n]] = fresh[f]
		fresh, free = slices.Delete(fresh, f, f+1), slices.Delete(free, n, n+1)
	}
	n := 1
	for _, text := range fresh {
		for named[g.name(n)] != "" {
			n++
		}
		named[g.name(n)] = text
	}
}

// alike says how much of two texts is the same: what they begin and end with.
func alike(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	m := 0
	for m < min(len(a), len(b))-n && a[len(a)-1-m] == b[len(b)-1-m] {
		m++
	}
	return n + m
}

// texts holds all that is said, by whomever.
func (s said) texts() map[string]bool {
	all := map[string]bool{}
	for _, list := range s {
		for text := range list {
			all[text] = true
		}
	}
	return all
}

// collect adds what a file of a case says, and the names of the stages that it names; what is printed for
// people only where it is known what is printed for programs, which is not broken into lines.
func collect(s said, stages map[string]bool, file, text string, known map[string]bool) {
	switch path.Ext(file) {
	case ".txt":
		if known == nil {
			return
		}
		for _, p := range paragraphs(text, func(text string) bool { return known[text] }) {
			if p.group == groupWrong {
				s.addError(p.text)
			} else if p.group != (group{}) {
				s.add(p.group, p.text)
			}
		}
	case ".json":
		if v, err := parsed(text); err == nil && !isDocument(file) {
			collectValue(s, stages, v, "")
		}
	}
}

// kinds are those of the members of JSON.
var kinds = map[string]string{"why": kindWhy, "purpose": kindAction, "command": kindCommand, "message": kindMessage, "fix": kindFix}

func collectValue(s said, stages map[string]bool, v value, of string) {
	of, isStage := speaker(v, of)
	if isStage {
		stages[of] = true
	}
	for _, m := range v.members {
		switch kind := kinds[m.name]; {
		case m.text == "" || kind == "" || of == "":
		case of == groupWrong.of:
			s.addError(m.text)
		default:
			s.add(group{of, kind}, m.text)
		}
		collectValue(s, stages, m, of)
	}
}

// speaker returns who says what a value holds: a rule, a stage, rke-lm, or else the one around it.
func speaker(v value, around string) (of string, isStage bool) {
	_, isFinding := v.member("severity")
	_, isMessage := v.member("message")
	if isMessage && !isFinding {
		return groupWrong.of, false
	}
	if rule, is := v.member("rule"); is {
		return rule, false
	}
	if name, is := v.member("name"); is {
		if _, is := v.member("why"); is {
			return name, true
		}
	}
	return around, false
}
