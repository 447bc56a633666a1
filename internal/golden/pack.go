// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rke-lm/rke-lm/internal/report"
)

// reference is the place of a text.
var reference = regexp.MustCompile("«([^«»]*)»")

const marks = "«»"

func placeOf(name string) string { return "«" + name + "»" }

var (
	errMarks    = errors.New("what is printed has a « or a », which mark the places of texts")
	errNotWhole = errors.New("what is stored would not be read as what it was")
)

var stageDocument = regexp.MustCompile(`^\d\d-([a-z-]+)\.[a-z]+$`)

// isDocument reports whether a file is a document that a verb prints, with another in its place.
func isDocument(name string) bool {
	return stageDocument.MatchString(name) || strings.HasPrefix(name, "fixed.")
}

// order is that of the members: inputs, what is printed for people, documents, what is printed for programs.
func order(name string) int {
	switch {
	case strings.HasPrefix(name, "input.") || name == "dump.yaml":
		return 0
	case isInput(name):
		return 1
	case name == "transcript.txt":
		return 3
	case isDocument(name):
		return 4
	case path.Ext(name) == ".txt":
		return 2
	}
	return 5
}

func inOrder(files map[string]string) []string {
	of := func(name string) int { return order(strings.TrimSuffix(name, asDiff)) }
	return slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		return cmp.Or(of(a)-of(b), strings.Compare(a, b))
	})
}

// pack stores a case. What it stores is read again, and has to be the same.
func pack(files map[string]string, t texts) ([]byte, error) {
	var a txtar.Archive
	diffs := diffsOf(files["plan.txt"])
	for _, name := range inOrder(files) {
		as, text, err := packFile(files, name, diffs, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		f, err := member(as, text)
		if err != nil {
			return nil, err
		}
		a.Files = append(a.Files, f)
	}
	packed := txtar.Format(&a)
	again, err := unpack(packed, t)
	if err != nil {
		return nil, err
	}
	if !maps.Equal(again, files) {
		return nil, errNotWhole
	}
	return packed, nil
}

func packFile(files map[string]string, name string, diffs diffs, t texts) (as, packed string, err error) {
	text := files[name]
	switch {
	case isInput(name):
		return name, text, nil
	case isDocument(name):
		return name + asDiff, packDocument(files, name, diffs), nil
	case strings.ContainsAny(text, marks):
		return "", "", errMarks
	case path.Ext(name) == ".json":
		packed, err = packValue(text, diffs, t)
	default:
		packed = packText(text, t)
	}
	return name, packed, err
}

// unpack returns the files of a case.
func unpack(packed []byte, t texts) (map[string]string, error) {
	stored, err := unarchive(packed)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, as := range inOrder(stored) {
		name, text := strings.TrimSuffix(as, asDiff), stored[as]
		switch {
		case isInput(name):
		case isDocument(name):
			text, err = unpackDocument(files, text)
		case path.Ext(name) == ".json":
			text, err = unpackValue(text, diffsOf(files["plan.txt"]), t)
		default:
			text, err = unpackText(text, t)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = text
	}
	return files, nil
}

func unpackInputs(packed []byte) (map[string]string, error) {
	files, err := unarchive(packed)
	maps.DeleteFunc(files, func(name, _ string) bool { return !isInput(name) })
	return files, err
}

func packText(text string, t texts) string {
	var b strings.Builder
	for _, p := range paragraphs(text, t.known) {
		raw, line := strings.Join(p.lines, ""), ""
		if place := t.place(p.group, p.text); place != "" {
			line = p.indent + p.before + place + p.after + "\n"
		} else if p.group == groupWrong {
			line = t.error(p.text) + "\n"
		}
		if again, err := unpackText(line, t); err == nil && again == raw {
			raw = line
		}
		b.WriteString(raw)
	}
	return b.String()
}

func unpackText(text string, t texts) (string, error) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		place := reference.FindString(line)
		whole, err := t.fill(line)
		if err != nil {
			return "", err
		}
		if place != "" && !onOneLine(groupOf(nameIn(place))) {
			whole = broken(whole, line[:len(line)-len(strings.TrimLeft(line, " "))])
		}
		b.WriteString(whole)
	}
	return b.String(), nil
}

func packValue(text string, diffs diffs, t texts) (string, error) {
	v, err := parsed(text)
	if err != nil {
		return "", err
	}
	v.replace("", func(of, name, text string) string {
		if name == "diff" {
			return otherwise(diffs.name(of, text), text)
		}
		if of == groupWrong.of {
			return t.error(text)
		}
		return otherwise(t.place(group{of, kinds[name]}, text), text)
	})
	return v.format(true), nil
}

func unpackValue(text string, diffs diffs, t texts) (string, error) {
	v, err := parsed(text)
	if err != nil {
		return "", err
	}
	v.replace("", func(_, name, text string) string {
		m := reference.FindStringSubmatch(text)
		if m == nil {
			return text
		}
		if diff, is := diffs[m[1]]; is && name == "diff" {
			return diff
		}
		whole, missing := t.fill(text)
		if missing != nil {
			err = missing
		}
		return whole
	})
	return v.format(false), err
}

// replace replaces the strings that are members of objects; of is who says them.
func (v *value) replace(of string, by func(of, name, text string) string) {
	of, _ = speaker(*v, of)
	for i := range v.members {
		if m := &v.members[i]; m.isString && v.open == '{' {
			m.text = by(of, m.name, m.text)
		} else {
			m.replace(of, by)
		}
	}
}

// packDocument says from what and to what the diff of a document leads.
func packDocument(files map[string]string, name string, diffs diffs) string {
	input := Case{Files: files}.Input()
	base := input
	if stageDocument.MatchString(name) {
		for other := range files {
			if stageDocument.MatchString(other) && other < name && (base == input || other > base) {
				base = other
			}
		}
	}
	diff := report.Unified(input, files[base], files[name], 0)
	if m := stageDocument.FindStringSubmatch(name); m != nil && diff != "" {
		if place := diffs.headless().name(m[1], diff); place != "" {
			diff = place + "\n"
		}
	}
	return fmt.Sprintf(documentHead, base, sum(files[name])) + diff
}

const documentHead = "from %s SHA-256 %s\n"

func unpackDocument(files map[string]string, packed string) (string, error) {
	head, diff, _ := strings.Cut(packed, "\n")
	var base, want string
	if n, err := fmt.Sscanf(head+"\n", documentHead, &base, &want); err != nil || n != 2 {
		return "", errDiff
	}
	if m := reference.FindStringSubmatch(diff); m != nil && diff == m[0]+"\n" {
		is, there := diffsOf(files["plan.txt"])[m[1]]
		if !there {
			return "", fmt.Errorf("plan.txt has no %s", m[0])
		}
		diff = is
	}
	text, err := applied(files[base], diff)
	if err == nil && sum(text) != want {
		err = errDiff
	}
	return text, err
}

// diffs are those that plan.txt prints, by name: "diff of STAGE", and "diff 2 of STAGE" for the second cluster.
type diffs map[string]string

func diffsOf(plan string) diffs {
	found, stage := diffs{}, ""
	for _, p := range paragraphs(plan, func(string) bool { return false }) {
		if m := stageLine.FindStringSubmatch(p.lines[0]); m != nil {
			stage = m[1]
		}
		if diffLength(p.lines) == 0 {
			continue
		}
		name := "diff of " + stage
		for n := 2; found[name] != ""; n++ {
			name = fmt.Sprintf("diff %d of %s", n, stage)
		}
		found[name] = strings.Join(p.lines, "")
	}
	return found
}

// headless are the diffs without headings.
func (d diffs) headless() diffs {
	out := diffs{}
	for name, diff := range d {
		out[name] = headless(diff)
	}
	return out
}

// name returns the place of a diff of a stage, or "".
func (d diffs) name(stage, diff string) string {
	for _, name := range slices.Sorted(maps.Keys(d)) {
		if d[name] == diff && strings.HasSuffix(name, " of "+stage) {
			return placeOf(name)
		}
	}
	return ""
}

func otherwise(text, instead string) string {
	if text != "" {
		return text
	}
	return instead
}
