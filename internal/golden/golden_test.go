// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// nothing says nothing.
var nothing = newTexts(nil)

func TestAnArchiveHoldsAnyBytes(t *testing.T) {
	for name, text := range map[string]string{
		"empty":                    "",
		"a newline":                "\n",
		"no final newline":         "a\nb",
		"CRLF":                     "a\r\nb\r\n",
		"CRLF, no final newline":   "a\r\nb",
		"ends in CR":               "a\r",
		"BOM":                      "\ufeffa: b\n",
		"UTF-16":                   "\xff\xfea\x00\n\x00",
		"a marker":                 "-- x --\n",
		"a marker, no newline":     "a\n-- x --",
		"a marker, CRLF":           "a\r\n-- x --\r\nb\r\n",
		"a marker in quotes":       "> -- x --\n>\n-- x --\n",
		"like a member's name":     "-- input.yaml,no-newline --\n",
		"nearly a marker":          "-- x\n--\n-- --\n --  x --\n",
		"what marks the places":    "«a»\n",
		"nearly the end of a file": "a\n\n\n",
	} {
		files := map[string]string{"input.yaml": text, "flags": "--manual-done a", "dump.yaml": "a: b\n"}
		packed, err := pack(files, nothing)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if again, err := unpack(packed, nothing); err != nil || !maps.Equal(again, files) {
			t.Errorf("%s: %q, %v from\n%s", name, again, err, packed)
		}
	}
}

// An archive that a stage's document is read from says its sum, so a diff that was changed by hand is found.
func TestADocumentIsReadFromItsDiff(t *testing.T) {
	for name, list := range map[string][]string{
		"changed":         {"a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\nd\n"},
		"not changed":     {"a\n", "a\n"},
		"no newline":      {"a\nb", "a\nb\nc", "a\nb\nc\n", "b\nc"},
		"CRLF":            {"a\r\nb\r\n", "a\r\nc\r\n"},
		"from nothing":    {"", "a\n", ""},
		"far apart":       {strings.Repeat("x\n", 30), "y\n" + strings.Repeat("x\n", 30), "y\n" + strings.Repeat("x\n", 29) + "z\n"},
		"like a diff":     {"--- a\n+++ b\n@@ -1,1 +1,1 @@\n", "-- a\n++ b\n@@ -1,1 +1,1 @@\n-- x --\n", "-- x --\n"},
		"says no newline": {"a\n\\ No newline at end of file\n", "b\n\\ No newline at end of file\n"},
	} {
		files := map[string]string{"input.yaml": list[0], "fixed.yaml": list[len(list)-1]}
		for i, text := range list[1:] {
			files[[]string{"01-a.yaml", "03-b-c.yaml", "07-d.yaml"}[i]] = text
		}
		packed, err := pack(files, nothing)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, packed)
			continue
		}
		if again, err := unpack(packed, nothing); err != nil || !maps.Equal(again, files) {
			t.Errorf("%s: %q, %v from\n%s", name, again, err, packed)
		}
	}
	packed, err := pack(map[string]string{"input.yaml": "a\nb\n", "01-a.yaml": "a\nc\n"}, nothing)
	if err != nil {
		t.Fatal(err)
	}
	for old, changed := range map[string]string{"+c": "+d", "-b": "-B", "SHA-256 ": "SHA-256 0", "from input.yaml": "from 02-x.yaml", "@@ -1,2 ": "@@ -9,2 "} {
		wrong := strings.Replace(string(packed), old, changed, 1)
		if _, err := unpack([]byte(wrong), nothing); err == nil || wrong == string(packed) {
			t.Errorf("with %s in place of %s it is read all the same:\n%s", changed, old, wrong)
		}
	}
}

// says is what a verb prints of a cluster: what a stage and a rule say.
func says(cluster, why string) map[string]string {
	const diff = "--- a/input.yaml\n+++ b/input.yaml\n@@ -1,1 +1,1 @@\n-a\n+b\n"
	return map[string]string{
		"input.yaml":      "a\n",
		"01-a-stage.yaml": "b\n",
		"plan.txt": "rke2 " + cluster + "\n\n  a-stage  todo\n\na-stage  todo\n" + broken(why, "  ") +
			"  error a-rule  input.yaml:1\n    it is wrong\n    → make it right\n" +
			broken("look at it, and wait:", "  ") + "    kubectl wait rkecontrolplanes.rke.cattle.io/" + cluster + " --for=condition=Reconciled --timeout=60m --and-more-than-fits-on-one-line\n\n" + diff + "\n",
		"plan.json":      "{\n  \"stages\": [\n    {\n      \"name\": \"a-stage\",\n      \"why\": " + inQuotes(why) + ",\n      \"actions\": [],\n      \"findings\": [\n        {\n          \"rule\": \"a-rule\",\n          \"severity\": \"error\",\n          \"message\": \"it is wrong\",\n          \"fix\": \"make it right\"\n        }\n      ],\n      \"diff\": " + inQuotes(diff) + "\n    }\n  ]\n}\n",
		"transcript.txt": "$ rke-lm plan input.yaml\nerror: input.yaml:1: spec.a: it is no cluster; name one\n[exit 4]\n",
	}
}

const why = "It is the longest of all reasons, because it has to be broken into some lines <as it is printed>, which is at one hundred columns"

func TestWhatCasesSayAlikeIsStoredOnce(t *testing.T) {
	folder := t.TempDir()
	var cases []Case
	for _, name := range []string{"wharf", "quay", "pier"} {
		cases = append(cases, Case{name, says(name, why)})
	}
	written(t, folder, cases)
	before := archives(t, folder)
	for name, packed := range before {
		if is := strings.Count(packed, "longest of all"); is > 0 == (name != textsName) {
			t.Errorf("%s has the reason %d times:\n%s", name, is, packed)
		}
	}
	if text := before[textsName]; !strings.Contains(text, "-- a-stage/command --\nkubectl wait rkecontrolplanes.rke.cattle.io/«» --for") || !strings.Contains(before["quay"], "\n    «a-stage/command quay»\n") {
		t.Errorf("a name of a cluster is in the text:\n%s", text)
	}

	for i, c := range cases { // another word
		cases[i].Files = says(c.Name, strings.Replace(why, "longest", "shortest", 1))
	}
	written(t, folder, cases)
	after := archives(t, folder)
	for name := range after {
		if changed := after[name] != before[name]; changed != (name == textsName) {
			t.Errorf("%s: changed is %t", name, changed)
		}
	}

	other := cases[0]
	other.Files = says(other.Name, why) // one case alone
	written(t, folder, []Case{other})
	if now := archives(t, folder); now["quay"] != before["quay"] || now["wharf"] == before["wharf"] || strings.Count(now[textsName], "of all reasons") != 2 {
		t.Errorf("it changed what others say:\n%s", now[textsName])
	}
}

// written writes cases and reads them again.
func written(t *testing.T, folder string, cases []Case) {
	t.Helper()
	if err := write(folder, cases); err != nil {
		t.Fatal(err)
	}
	texts, err := readTexts(folder)
	if err != nil {
		t.Fatal(err)
	}
	again, err := readAll(folder, func(packed []byte) (map[string]string, error) { return unpack(packed, texts) })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for _, is := range again {
			if is.Name == c.Name && !maps.Equal(is.Files, c.Files) {
				t.Errorf("%s is read as %q", c.Name, is.Files)
			}
		}
	}
}

func archives(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(e.Name(), ".txtar")] = string(text)
	}
	return all
}

func TestWhatIsNotThereIsReported(t *testing.T) {
	for _, text := range []string{"«a/why»", "«a/fix x y»", "«a/fix»", "«»"} {
		if whole, err := newTexts(map[string]string{"a/fix": "say «»"}).fill(text); err == nil {
			t.Errorf("%s is %q", text, whole)
		}
	}
	if _, err := pack(map[string]string{"input.yaml": "", "plan.txt": "«a/why»\n"}, nothing); err == nil {
		t.Error("what is printed would be taken for a text")
	}
	twice := txtar.Archive{Files: []txtar.File{{Name: "plan.txt", Data: []byte("a\n")}, {Name: "plan.txt,no-newline", Data: []byte("b\n")}}}
	if files, err := unpack(txtar.Format(&twice), nothing); err == nil {
		t.Errorf("a file is there twice, and is %v", files)
	}
}

// The goldens of this project: every case is read and stored again as the same bytes, every text is used,
// and none is missing.
func TestEveryCaseIsStoredAsItIsRead(t *testing.T) {
	texts, err := readTexts(top)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for name, packed := range archives(t, top) {
		if name == textsName {
			continue
		}
		files, err := unpack([]byte(packed), texts)
		if err != nil {
			t.Errorf("%s: %v; run: make golden", name, err)
			continue
		}
		if again, err := pack(files, texts); err != nil || string(again) != packed {
			t.Errorf("%s is stored in another way, %v; run: make golden", name, err)
		}
		for _, place := range reference.FindAllString(packed, -1) {
			used[nameIn(place)] = true
		}
	}
	for name := range texts.said {
		if !used[name] {
			t.Errorf("no case says %s; run: make golden", name)
		}
	}
}
