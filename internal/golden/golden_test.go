// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"maps"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rke-lm/rke-lm/internal/assert"
)

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
		"nearly the end of a file": "a\n\n\n",
	} {
		cases := []Case{
			{"values", map[string]string{"input.yaml": text, "flags": "--manual-done a", "plan.txt": text}, "values", ""},
			{"values-crlf", map[string]string{"input.yaml": "a: b\n", "plan.txt": text}, "values", "crlf"},
		}
		packed, err := pack(cases)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := unpack("values", packed)
		if err != nil || len(again) != 2 {
			t.Errorf("%s: %q, %v from\n%s", name, again, err, packed)
			continue
		}
		for _, c := range again {
			want := cases[strings.Count(c.Name, "-")]
			assert.Truef(t, c.Name == want.Name && maps.Equal(c.Files, want.Files), "%s: %q from\n%s", name, c, packed)
		}
	}
}

func TestInputsComeFirstInAnArchive(t *testing.T) {
	packed := assert.Value(pack([]Case{{"x", map[string]string{"apply.txt": "a\n", "flags": "b\n", "input.yaml": "c\n", "values.yaml": "d\n"}, "x", ""}}))(t)
	var names []string
	for _, f := range txtar.Parse(packed).Files {
		names = append(names, f.Name)
	}
	assert.Equal(t, strings.Join(names, " "), "input.yaml flags values.yaml apply.txt")
}

func TestAnArchiveThatIsWrongIsReported(t *testing.T) {
	for name, packed := range map[string]string{
		"is there twice": "-- input.yaml --\na\n-- input.yaml --\nb\n",
		"quoted":         "-- input.yaml,quoted --\nno mark\n",
	} {
		assert.Error(unpack("x", []byte(packed)))(t, name)
	}
	_, err := pack([]Case{{"x", map[string]string{"a/b": "c\n", "a": "d\n"}, "x", ""}})
	assert.True(t, err != nil, "a file of a folder is stored as one of a case")
}

func TestTheOutputsOfACaseAreReplacedAndItsInputsStay(t *testing.T) {
	c := Case{Files: map[string]string{"input.yaml": "a", "flags": "--x y", "stale.txt": "b"}}.With(map[string]string{"plan.txt": "c"})
	assert.True(t, len(c.Files) == 3 && c.Text() == "a" && len(c.Flags()) == 2 && maps.Equal(c.Outputs(), map[string]string{"plan.txt": "c"}), c.Files)
}

func TestEveryCaseIsStoredAsItIsRead(t *testing.T) {
	of := map[string][]Case{}
	for _, c := range Inputs(t) {
		of[c.archive] = append(of[c.archive], c)
	}
	for archive, cases := range of {
		packed, err := pack(cases)
		assert.Truef(t, err == nil && string(packed) == Stored(archive+".txtar"), "%s: %v; run: make golden", archive, err)
	}
}

// People read them, and download them with the module.
func TestTheArchivesAreFewAndSmall(t *testing.T) {
	archives, bytes := map[string]bool{}, 0
	for _, c := range Inputs(t) {
		archives[c.archive] = true
		for _, text := range c.Files {
			bytes += len(text)
		}
	}
	assert.Truef(t, len(archives) <= 250 && bytes <= 3_000_000, "%d archives with %d bytes", len(archives), bytes)
}
