// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// secretDocuments are the clusters in which secrets are planted. Each has one of
// one kind in every place that it is about.
var secretDocuments = []struct {
	name  string
	about string
	fits  func(secretKind) bool
}{
	{"everywhere", "each edit has some within three lines, so that they are in its diff", func(secretKind) bool { return true }},
	{"labels", "a pool's labels and a selector on them", func(k secretKind) bool { return labelValue.MatchString(k.make(0)) }},
	{"nested", "Secrets that are not the root of their documents", func(k secretKind) bool { return !k.bare }},
	{"chart", "what is at the level of the changes of the chart", func(secretKind) bool { return true }},
	{"unnamed", "arguments without a name, or with a blank after it, and commands in comments", func(k secretKind) bool { return !strings.ContainsAny(k.make(0), " \n") }},
}

// labelValue is what Kubernetes takes for the value of a label.
var labelValue = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)

// TestNoOutputShowsASecret plants a secret of every kind in every place, runs
// every verb with every output format and stage, and looks for the secrets in
// all that is printed. What is written keeps them.
func TestNoOutputShowsASecret(t *testing.T) {
	for _, document := range secretDocuments {
		whole := document.name == "everywhere"
		template := readSecrets(t, document.name)
		for k, kind := range secretKinds {
			if !document.fits(kind) {
				continue
			}
			for i, s := range spellings {
				if !whole && i%3 != 0 || testing.Short() && (i > 0 || !whole && k%3 != 0) {
					continue // the spellings make no difference to these
				}
				runs := fewRuns
				if i == 0 && whole && (!testing.Short() || k%4 == 0) {
					runs = everyRun(k)
				}
				t.Run(document.name+"/"+kind.name+"/"+s.name, func(t *testing.T) {
					t.Parallel()
					text, p := plant(t, template, kind)
					text = s.write(t, text)
					file := filepath.Join(t.TempDir(), s.file)
					doc := parsePlanted(t, file, text)
					requirePlanted(t, p, s, text, doc)
					p.requireNone(t, string(redact.Document(doc)), "the redacted document")
					p.requireSilent(t, file, text, runs)
					if i == 0 {
						requireSafeFolder(t, p, file)
					}
					requireKept(t, p, file, text)
				})
			}
		}
	}
}

// readSecrets returns a cluster with the places for secrets left open.
func readSecrets(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "secrets", name+".yaml.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// requireSilent runs command lines that show no secret and write nothing.
func (p *planter) requireSilent(t *testing.T, file, text string, runs [][]string) {
	t.Helper()
	for _, args := range runs {
		p.run(t, text, with([]string{file}, args...))
	}
	p.run(t, text, []string{"plan", "-"})
	requireText(t, file, text)
}

func requireText(t *testing.T, file, want string) {
	t.Helper()
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("the file was changed, or is gone: %v", err)
	}
}

func parsePlanted(t *testing.T, file, text string) *yamledit.Document {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	doc, err := yamledit.ParseString(file, text)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// run runs a command line that writes nothing.
func (p *planter) run(t *testing.T, stdin string, args []string) ran {
	t.Helper()
	r := runHere(t, stdin, args...)
	p.requireNone(t, r.stdout, strings.Join(args, " "))
	p.requireNone(t, r.stderr, strings.Join(args, " ")+" on standard error")
	return r
}
