// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

const readme = "# The lab\n`other`\n## Scenarios\n\n| Line | Shows |\n|---|---|\n| `one` | `verify` |\n| `two`, `kills-N-times` | both |\n\n## Soak\n\n| `soak` | more |\n"

func TestEveryScenarioPrintsOneLine(t *testing.T) {
	line := func(name string) string { return Line(name, nil) + "\n" }
	all := "=== RUN TestOne\n" + line("one") + "noise e2e four ok leaders0=1.0\n" + line("two") + line("kills-3-times")
	for name, c := range map[string]struct{ output, want string }{
		"all":                 {all, ""},
		"none":                {"PASS\n", "the scenario one printed 0 last lines, the scenario two printed 0 last lines, the scenario kills-N-times printed 0 last lines"},
		"one without":         {line("one") + line("kills-50-times"), "the scenario two printed 0 last lines"},
		"one twice":           {all + line("one"), "the scenario one printed 2 last lines"},
		"one that is unknown": {all + line("three"), "the readme has no scenario three"},
		"without seconds":     {strings.Replace(all, " leaders2=0.0", "", 1), "the scenario one printed 0 last lines"},
	} {
		assert.Equal(t, strings.Join(CheckLines(readme, "Scenarios", c.output), ", "), c.want, name)
	}
}

// Names that are made up while a test runs are those of the soak, and the number of kills.
func TestTheReadmeListsTheScenariosThatTestsEndWith(t *testing.T) {
	text := assert.Value(os.ReadFile(filepath.Join("..", "README.md")))(t)
	files, err := filepath.Glob(filepath.Join("..", "e2e", "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	ends := regexp.MustCompile(`\.end\((?:fmt\.Sprintf\()?"([^"]+[^-"])"`)
	var names []string
	for _, file := range files {
		source := assert.Value(os.ReadFile(file))(t)
		for _, m := range ends.FindAllStringSubmatch(string(source), -1) {
			if !strings.Contains(m[1], "%d") || m[1] == "killed-%d-times" { // the others with a number are of the soak
				names = append(names, strings.ReplaceAll(m[1], "%d", "N"))
			}
		}
	}
	listed := slices.Concat(Scenarios(string(text), "Scenarios"), Scenarios(string(text), "Rancher itself"))
	slices.Sort(names)
	slices.Sort(listed)
	if !slices.Equal(slices.Compact(names), listed) {
		t.Errorf("tests end with\n%v\nand the readme lists\n%v", names, listed)
	}
}
