// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// filesRead are the files that a call of a program reads.
func filesRead(call []string) (files []string) {
	for i, word := range call[1:] {
		flag, value, _ := strings.Cut(word, "=")
		address, isFile := strings.CutPrefix(word, "file://")
		switch before := call[i]; {
		case isFile:
			files = append(files, address)
		case flag == "--from-file":
			files = append(files, value[strings.Index(value, "=")+1:])
		case slices.Contains([]string{"--patch-file", "--values", "--config", "--filename"}, flag) && value != "":
			files = append(files, value)
		case slices.Contains([]string{"--values", "-f", "--config", "--plan", "--ccm-values", "--patch-file"}, before), call[0] == "install" && i == len(call)-3:
			files = append(files, word)
		}
	}
	return slices.DeleteFunc(files, func(name string) bool { return name == "-" })
}

// Every command of every runbook runs in the folder that the runbook names, and finds its files there: where the plan was
// made in a repository, from the top of it, and from any folder otherwise. Cases take turns.
func TestTheCommandsOfARunbookFindTheirFiles(t *testing.T) {
	sweep(t)
	m := newMachine(t)
	books, ran := map[bool]int{}, map[string]bool{}
	for i, c := range ofEachFormat(t) {
		repository := i%2 == 0
		t.Run(c.Name, func(t *testing.T) {
			files := map[string]string{"folder/own": ""}
			if repository {
				files[".git/HEAD"] = ""
			}
			here(t, files)
			assert.NilError(t, os.CopyFS("my clusters", os.DirFS(c.LayOut(t))))
			args := slices.Concat([]string{"plan", "--out", "plans"}, c.Flags(), []string{c.Input()})
			for i, a := range args {
				if _, err := os.Stat(filepath.Join("my clusters", a)); err == nil {
					args[i] = "my clusters/" + a
				}
			}
			if r := runHere(t, "", args...); r.code != transform.ExitDone {
				return // nothing is planned
			}
			all := runbooks(t)
			if !repository {
				t.Chdir("folder")
			}
			for _, book := range all {
				books[repository]++
				assert.Mustf(t, !strings.Contains(book, "Run the commands in the top folder of the repository") != repository, "%.900s", book)
				findsFiles(t, m, book, ran)
			}
		})
	}
	assert.Truef(t, books[true] >= 30 && books[false] >= 30, "there are only %v runbooks", books)
}

func runbooks(t *testing.T) []string {
	t.Helper()
	found := assert.Value(filepath.Glob("plans/*/*/runbook.md"))(t)
	return lists.Map(found, func(name string) string { return textOf(t, name) })
}

var commandOfRunbook = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// findsFiles runs the commands of a runbook, in their order: one without a path only if it did not run before.
func findsFiles(t *testing.T, m *machine, book string, ran map[string]bool) {
	t.Helper()
	commands := commandOfRunbook.FindAllStringSubmatch(book, -1)
	var files, scripts []string
	for _, c := range commands {
		if words := wordsOf(strings.TrimSuffix(c[1], "\n")); strings.HasPrefix(c[1], "rke-lm apply --plan ") { // most commands, and they need no shell
			files = append(files, words[3], words[len(words)-1])
		} else if !ran[c[1]] {
			ran[c[1]] = !strings.Contains(c[1], "plans/") && !strings.Contains(c[1], "my clusters/")
			scripts = append(scripts, c[1])
		}
	}
	calls, printed := m.calls(t, ".", scripts)
	for _, call := range slices.Concat(calls...) {
		files = append(files, filesRead(call)...)
	}
	for _, name := range files {
		_, err := os.Stat(name)
		assert.Truef(t, err == nil, "%v\n%s", err, book)
	}
	assert.Truef(t, !regexp.MustCompile("No such file|cannot open|not found|Permission denied|[Ss]yntax error|unexpected").MatchString(printed), "%s\n%s", printed, scripts)
	assert.True(t, len(commands) != 0, "it has no command")
}
