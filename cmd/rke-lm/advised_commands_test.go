// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// advisedTable has a line for each command that a rule advises, and the state in which it does: the
// golden case. The lab runs those of kubectl on a real API server.
const advisedTable = "testdata/advised.tsv"

// TestGoldenAdvisedCommandsRun breaks every rule and runs the commands that its advice has: with
// programs in the place of kubectl, helm, rke and aws that know their verbs and flags.
func TestGoldenAdvisedCommandsRun(t *testing.T) {
	sweep(t)
	m := newMachine(t)
	table := []string{"rule\tstate\tcommand"}
	for _, c := range breaking(t) {
		file, verbs := filepath.Join(c.LayOut(t), c.Input()), []string{"lint", "plan"}
		args := append(c.Flags(), file)
		if strings.HasPrefix(c.Name, "live-") {
			verbs, args = []string{"verify"}, append(c.Flags(), "--from", file)
		}
		for _, verb := range verbs {
			for _, f := range found(t, verb, args) {
				for _, command := range commandsIn(f.Fix) {
					table = append(table, f.Rule+"\t"+c.Name+"\t"+strings.ReplaceAll(command, filepath.Dir(file), "."))
				}
			}
		}
	}
	slices.Sort(table[1:])
	table = slices.Compact(table)
	for _, line := range table[1:] {
		cells := strings.Split(line, "\t")
		t.Run(cells[0]+"/"+cells[1], func(t *testing.T) { m.follow(t, cells[2]) })
	}
	text := strings.Join(table, "\n") + "\n"
	if *update {
		putFile(t, advisedTable, text)
	}
	diff := cmp.Diff(textOf(t, advisedTable), text)
	assert.Truef(t, diff == "", "make golden rewrites %s (-want +got):\n%s", advisedTable, diff)
}

var (
	// advised is where a command begins in advice.
	advised = regexp.MustCompile(`\b(?:(?:kubectl|helm|rke|kubeadm|systemctl|docker|rke-lm) (?:--?[a-z]\S* )*|aws (?:ec2|elb|iam|ecr) )[a-z][a-z-]+`)
	// prose is where the sentence continues after a command.
	prose = regexp.MustCompile(`[;,:.] |, | \(| if | and | or | whether | has all | on the cluster| with the | shows | prints | on Rancher|\)|$`)
	// quotation is a word of a shell that does not end a command.
	quotation = regexp.MustCompile(`'[^']*'|"[^"]*"`)
)

// commandsIn returns the commands of a sentence.
func commandsIn(text string) (list []string) {
	for {
		at := advised.FindStringIndex(text)
		if at == nil {
			return list
		}
		text = text[at[0]:]
		masked := quotation.ReplaceAllStringFunc(text, func(word string) string { return strings.Repeat("x", len(word)) })
		end := prose.FindStringIndex(masked)[0]
		list, text = append(list, strings.TrimSpace(text[:end])), text[end:]
	}
}

// programs are the verbs that advice may use of other programs, and their flags.
var programs = map[string]map[string][]string{
	"kubectl": {
		"annotate": {"-n", "--overwrite"}, "create": {"-n", "--from-file"}, "wait": {"-n", "--for", "--timeout"}, "apply": {"-f"}, "auth can-i": {"-n", "--as"}, "delete": {"-n", "--ignore-not-found"}, "describe": {"-n"}, "drain": {"--ignore-daemonsets", "--delete-emptydir-data"},
		"get": {"-n", "-l", "-o", "-A"}, "logs": {"-n", "--previous"}, "patch": {"-n", "--type", "-p"}, "replace": {"-f"}, "taint": {"--overwrite"}, "uncordon": nil, "kustomize": nil, "edit": {"-n"},
	},
	"helm": {"get values": {"--namespace", "--output"}, "history": {"-n"}, "template": nil, "rollback": {"-n"}, "upgrade": nil, "uninstall": {"-n"}, "install": {"--namespace", "--set"}},
	"rke":  {"up": {"--config"}},
	"cosign": {
		"generate-key-pair": nil, "signing-config create": {"--out"},
		"verify-blob-attestation": {"--type", "--bundle", "--certificate-identity", "--certificate-oidc-issuer", "--key", "--insecure-ignore-tlog"},
	},
	"skopeo": {"copy": {"--all"}},
}

// follow runs a command. It has to call a program, and each as the program is called.
func (m *machine) follow(t *testing.T, command string) {
	t.Helper()
	calls := m.run(t, command)[0]
	assert.Mustf(t, len(calls) != 0, "%s: nothing runs", command)
	for _, call := range calls {
		if call[0] == "rke-lm" {
			parses(t, call[1:])
			continue
		}
		assert.Equal(t, misused(call), "", command)
	}
}

// misused says what is wrong with a call of another program.
func misused(call []string) string {
	verbs, known := programs[call[0]]
	if !known {
		return call[0] + " is not among the programs"
	}
	words, flags := []string{}, []string{}
	for _, w := range call[1:] {
		name, _, _ := strings.Cut(w, "=")
		switch {
		case slices.Contains([]string{"--context", "--kubeconfig", "--kube-context"}, name):
		case strings.HasPrefix(w, "-"):
			flags = append(flags, name)
		default:
			words = append(words, w)
		}
	}
	for verb, allowed := range verbs {
		if !strings.HasPrefix(strings.Join(words, " ")+" ", verb+" ") && !slices.Contains(words, verb) {
			continue
		}
		for _, f := range flags {
			if f != "--" && !slices.Contains(allowed, f) && !strings.HasSuffix(f, "-") {
				return call[0] + " " + verb + " has no flag " + f
			}
		}
		return ""
	}
	return call[0] + " has no such verb"
}

// parses requires a command of rke-lm as this version has it.
func parses(t *testing.T, args []string) {
	t.Helper()
	c, rest, err := newRoot(streams{}).Find(args)
	if err == nil && (c.Parent() == nil || !c.Runnable() && !c.HasSubCommands()) {
		t.Errorf("rke-lm %v is no command", args)
		return
	}
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil && c.Args != nil {
		err = cobra.Command{Args: c.Args}.Args(c, c.Flags().Args())
	}
	assert.Truef(t, err == nil, "rke-lm %v: %v", args, err)
}
