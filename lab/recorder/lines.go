// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// lastLine is what Line prints.
var lastLine = regexp.MustCompile(`(?m)^e2e (\S+) ok leaders0=[0-9.]+ leaders1=[0-9.]+ leaders2=[0-9.]+$`)

// CheckLines compares the last lines in the output of tests with the scenarios that a section of a readme lists. A
// number in a line is for N in the readme. It returns what is wrong: a scenario without a line, or with two, and a line
// of no scenario.
func CheckLines(readme, section, output string) []string {
	want, got := Scenarios(readme, section), map[string]int{}
	var wrong []string
	for _, m := range lastLine.FindAllStringSubmatch(output, -1) {
		name := numbers.ReplaceAllString(m[1], "-N-")
		if got[name]++; !slices.Contains(want, name) {
			wrong = append(wrong, fmt.Sprintf("the readme has no scenario %s", name))
		}
	}
	for _, name := range want {
		if got[name] != 1 {
			wrong = append(wrong, fmt.Sprintf("the scenario %s printed %d last lines", name, got[name]))
		}
	}
	return wrong
}

var (
	numbers = regexp.MustCompile(`-[0-9]+-`)
	quoted  = regexp.MustCompile("`([^`]+)`")
)

// Scenarios are the names in the first column of the tables in a section of a readme.
func Scenarios(readme, section string) []string {
	_, text, _ := strings.Cut(readme, "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var names []string
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
			names = append(names, m[1])
		}
	}
	return names
}
