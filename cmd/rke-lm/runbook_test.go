// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// programsOfRunbooks are called by commands of runbooks.
var programsOfRunbooks = []string{"kubectl", "helm", "aws", "install", "mv", "rm", "kubeadm", "rke", "rke-lm", "systemctl"}

// namesFiles is a program that requires the files in its arguments to exist, and writes those that do not into $MISSING.
const namesFiles = `
missing() { [ "$1" = - ] || [ -e "$1" ] || echo "$name: $1" >> "$MISSING"; }
program() {
	name=$1 was= before=
	shift
	for a; do
		case "$was" in --values | -f | --config | --plan | --ccm-values | --patch-file) missing "$a" ;; esac
		case "$a" in
		--from-file=*=*) missing "${a#--from-file=*=}" ;;
		--patch-file=* | --values=* | --config=* | --filename=*) missing "${a#*=}" ;;
		file://*) missing "${a#file://}" ;;
		esac
		before=$was was=$a
	done
	case "$name $*" in
	"install "*) missing "$before" ;;
	*"get nodes"*) echo node/heron-1 ;;
	esac
}
`

// Every command of every runbook runs in the folder that the runbook names, and finds its files there: where the plan was
// made in a repository, from the top of it, and from any folder otherwise.
func TestTheCommandsOfARunbookFindTheirFiles(t *testing.T) {
	sweep(t)
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("sh is not on the PATH")
	}
	programs := t.TempDir()
	for _, name := range programsOfRunbooks { // for those that xargs starts
		assert.NilError(t, os.WriteFile(filepath.Join(programs, name), []byte("#!"+sh+namesFiles+"program "+name+` "$@"`), 0o700))
	}
	books, ran := 0, map[string]bool{}
	for _, c := range golden.Inputs(t) {
		if isLive(c) || almost(c) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			for _, repository := range []bool{true, false} {
				if !repository && strings.HasPrefix(c.Name, "rule-") {
					continue
				}
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
				if r := runHere(t, "", args...); r.code != exitcode.Done {
					return // nothing is planned
				}
				all := runbooks(t)
				if !repository {
					t.Chdir("folder")
				}
				for _, book := range all {
					books++
					assert.Mustf(t, !strings.Contains(book, "Run the commands in the top folder of the repository") != repository, "%.900s", book)
					followed(t, sh, programs, book, ran)
				}
			}
		})
	}
	assert.Truef(t, books >= 100, "there are only %d runbooks", books)
}

func runbooks(t *testing.T) (texts []string) {
	t.Helper()
	found := assert.Value(filepath.Glob("plans/*/*/runbook.md"))(t)
	for _, name := range found {
		texts = append(texts, textOf(t, name))
	}
	return texts
}

var commandOfRunbook = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// followed runs the commands of a runbook in one shell, in their order: one without a path only if it did not run before.
func followed(t *testing.T, sh, programs, book string, ran map[string]bool) {
	t.Helper()
	script := namesFiles
	for _, name := range programsOfRunbooks {
		if name != "rke-lm" { // no name of a function
			script += name + `() { program ` + name + ` "$@"; }` + "\n"
		}
	}
	commands := commandOfRunbook.FindAllStringSubmatch(book, -1)
	for _, m := range commands {
		if ran[m[1]] {
			continue
		}
		if words := wordsOf(strings.TrimSuffix(m[1], "\n")); strings.HasPrefix(m[1], "rke-lm apply --plan ") { // most commands, and they need no shell
			for _, name := range []string{words[3], words[len(words)-1]} {
				_, err := os.Stat(name)
				assert.Truef(t, err == nil, "%s%v", m[1], err)
			}
			continue
		}
		ran[m[1]] = !strings.Contains(m[1], "plans/") && !strings.Contains(m[1], "my clusters/")
		script += "(\n" + m[1] + ")\ncode=$?; [ $code -le 125 ] || echo \"exit code $code\" >> \"$MISSING\"\n"
	}
	missing := filepath.Join(t.TempDir(), "missing")
	putFile(t, missing, "")
	c := exec.Command(sh, "-c", script)
	c.Env = []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "MISSING=" + missing, "HOME=/root", "RANCHER_KUBECONFIG=rancher.yaml", "CONTEXT=harbour", "CONTROL_PLANE_ROLE=cp", "NODE_ROLE=node", "CLUSTER_ID=id", "RESOURCES=r"}
	said, err := c.CombinedOutput()
	assert.Truef(t, err == nil && textOf(t, missing) == "" && !strings.Contains(string(said), "No such file") && !strings.Contains(string(said), "cannot open"), "%v, files that do not exist: %s\n%s\n%s", err, textOf(t, missing), said, script)
	assert.True(t, len(commands) != 0, "it has no command")
}
