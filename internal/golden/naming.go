// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"cmp"
	"maps"
	"path"
	"slices"
)

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

// alike reports how much of two texts is the same: what they begin and end with.
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

// texts holds all texts, whatever prints them.
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
