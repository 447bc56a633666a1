// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// What a secret is, and how it is written, is tested in transform/redact: each key, spelling and value. These tests are about
// the outputs: each verb in each format runs over clusters with a secret in every place, shows none, and keeps each in what
// it writes.

// secretMark is what a planted secret is made of, so that a part of it is recognized as well, in any case.
var secretMark = regexp.MustCompile(`(?i)q(\d{4})z`)

func fill(serial, n int) string { return strings.Repeat(fmt.Sprintf("Q%04dz", serial), n/6+1)[:n] }
func low(serial, n int) string  { return strings.ToLower(fill(serial, n)) }

// secretKind is a secret under the key that people write it with. One with a form of its own is known without the key.
type secretKind struct {
	key  string
	make func(serial int) string
	form bool
}

var secretKinds = []secretKind{
	{"token", func(n int) string { return low(n, 12) }, false},
	{"AWS_ACCESS_KEY_ID", func(n int) string { return "AK" + "IA" + strings.ToUpper(fill(n, 16)) }, true},
	{"adminPassword", func(n int) string { return low(n, 12) + "," + low(n, 12) }, false},
	{"sshPrivateKey", func(n int) string {
		return "-----BEGIN OPENSSH " + "PRIVATE KEY-----\n" + fill(n, 70) + "\n" + fill(n, 24) + "\n-----END OPENSSH PRIVATE KEY-----"
	}, true},
	{"adminPassword", func(n int) string { return "correct " + low(n, 12) + " " + low(n, 12) }, false},
	{"HTTPS_PROXY", func(n int) string { return "http://proxy:" + fill(n, 12) + "@proxy.example.com:3128/path" }, true},
	{"adminPassword", func(n int) string { return "{" + low(n, 12) + "]" }, false},
	{"AWS_SECRET_ACCESS_KEY", func(n int) string { return "/" + fill(n, 39) }, true},
	{"clientSecret", func(n int) string { return low(n, 12) + "~" + low(n, 12) }, false},
	{"authorization", func(n int) string { return "Bearer " + low(n, 30) }, true},
	{"secretKey", func(n int) string { return "minio-" + fill(n, 18) }, false},
	{"token", func(n int) string { return "K" + "10" + low(n, 64) + "::server:" + low(n, 32) }, true},
	{"auth", func(n int) string { return fill(n, 24) }, false},
}

// planter makes secrets, one kind after the other, and remembers them. Each round begins with another kind, so that a kind
// is in other places than in the round before.
type planter struct {
	round  int
	places []string
	values []string
}

func (p *planter) next(place string, with func(secretKind) bool) (key, value string) {
	for i := p.round + len(p.places); ; i++ {
		if k := secretKinds[i%len(secretKinds)]; with == nil || with(k) {
			return k.key, p.add(place, k.make)
		}
	}
}

func (p *planter) add(place string, secret func(serial int) string) string {
	p.places = append(p.places, place)
	p.values = append(p.values, secret(len(p.values)))
	return p.values[len(p.values)-1]
}

// plant returns the text of a template with secrets in its places.
func (p *planter) plant(t *testing.T, name string) string {
	t.Helper()
	scalar := func(v string) string {
		if strings.ContainsAny(v, "\n{[,~ ") {
			return strconv.Quote(v)
		}
		return v
	}
	on := func(v string, indent int, prefix string) string {
		return strings.ReplaceAll(v, "\n", "\n"+strings.Repeat(" ", indent)+prefix)
	}
	joined := func(place, by string) string {
		k, v := p.next(place, nil)
		return k + by + v
	}
	hasForm := func(k secretKind) bool { return k.form }
	isWord := func(k secretKind) bool { return !strings.ContainsAny(k.make(0), " \n{@") }
	bare := func(place string) string { _, v := p.next(place, hasForm); return v }
	funcs := template.FuncMap{
		"value": func(place string) string { _, v := p.next(place, nil); return scalar(v) },
		"pair":  func(place string) string { k, v := p.next(place, nil); return k + ": " + scalar(v) },
		"variable": func(place string, indent int) string {
			k, v := p.next(place, nil)
			return k + on("\nvalue: "+scalar(v), indent, "")
		},
		"jsonPair": func(place string) string {
			k, v := p.next(place, nil)
			return strconv.Quote(k) + ":" + strconv.Quote(v)
		},
		"assign":     func(place string) string { return scalar(joined(place, "=")) },
		"assignFlow": func(place string) string { return strconv.Quote(joined(place, "=")) },
		"flag":       func(place string) string { return strconv.Quote("--" + joined(place, "=")) },
		"flow": func(place string) string {
			k, v := p.next(place, nil)
			return strconv.Quote("--config={" + k + ": " + strconv.Quote(v) + "}")
		},
		"kinds":     func() int { return len(secretKinds) },
		"ini":       func(place string, indent int) string { return on(joined(place, " = "), indent, "  ") },
		"text":      func(place string, indent int) string { return on(bare(place), indent, "  ") },
		"note":      func(place string, indent int) string { return on(joined(place, ": "), indent, "# ") },
		"bare":      func(place string) string { return scalar(bare(place)) },
		"word":      func(place string) string { _, v := p.next(place, isWord); return v },
		"plain":     func(place string) string { return strings.ReplaceAll(bare(place), "\n", `\n`) },
		"label":     func(place string) string { return p.add(place, secretKinds[0].make) },
		"bareLabel": func(place string) string { return p.add(place, secretKinds[1].make) },
	}
	var b bytes.Buffer
	assert.NilError(t, template.Must(template.New("").Funcs(funcs).Parse(textOf(t, filepath.Join("testdata", "secrets", name+".yaml.tmpl")))).Execute(&b, nil))
	return b.String()
}

// requireNone fails for every secret in what a command printed.
func (p *planter) requireNone(t *testing.T, printed, what string) {
	t.Helper()
	for line := range strings.Lines(printed) {
		if m := secretMark.FindStringSubmatchIndex(line); m != nil {
			n, _ := strconv.Atoi(line[m[2]+1 : m[3]]) // a review changes the first digit
			t.Errorf("%s shows %q from %s:\n%s", what, p.values[n], p.places[n], line[max(0, m[0]-50):min(len(line), m[1]+50)])
			return
		}
	}
}

// run runs a command line that shows no secret.
func (p *planter) run(t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	r := runHere(t, stdin, args...)
	p.requireNone(t, r.stdout, strings.Join(args, " "))
	p.requireNone(t, r.stderr, strings.Join(args, " ")+" on standard error")
	return r
}

// secretDocuments are the clusters in which secrets are planted, with the choices that let their stages through, and the
// last stage that edits them.
var secretDocuments = []struct {
	name, values, choices, last string
	shown                       int // how many places with a secret the diffs have at least
}{
	{"everywhere", "", "--end-state external --accept cloud-config-lost --accept args-overwritten --accept value-erased --accept flag-unknown --accept node-rename", stages.DisableLeaderMigration, 30},
	{"chart", "", "--end-state external --accept flag-unknown --accept node-rename", stages.DisableLeaderMigration, 7},
	{"rke1", "", "--accept flag-unknown --manual-done install-ccm", stages.SwitchToExternal, 6},
	{"rke1", "values", "--accept flag-unknown --manual-done install-ccm --manual-done switch-to-external", stages.DisableLeaderMigration, 13},
}

// inEveryFormat are the verbs in each of their formats.
func inEveryFormat() (lines []string) {
	for verb, formats := range map[string][]string{"plan": append(report.OutputFormats, "text", "wide", "json", "yaml"), "lint": append(report.OutputFormats, "text", "json", "yaml"), "explain": {"text", "json", "yaml"}} {
		for _, format := range formats {
			lines = append(lines, verb+" -o "+format)
		}
	}
	return lines
}

// withEveryChoice are the verbs with each stage and choice, and with some that are refused.
func withEveryChoice() []string {
	lines := []string{
		"plan --all", "plan -o none", "plan --stage none", "plan --exit-code --distro rke2", "explain --key kube-controller-manager-arg", "explain --key agent-token -o json", "explain --key none",
		"lint --fix --dry-run", "apply --next --dry-run", "apply --stage switch-to-external", "apply --stage switch-to-external --through",
	}
	for _, stage := range stages.Names() {
		lines = append(lines, "plan --stage "+stage, "plan -o json --stage "+stage, "explain --diff "+stage)
	}
	for _, stage := range stages.EditNames() {
		lines = append(lines, "apply --dry-run --undo "+stage, "apply --dry-run --through --canonical --undo "+stage)
	}
	for _, choice := range []string{
		"--end-state aws-override", "--target-version v1.27.16+rke2r1", "--target-version v1.28.15+rke2r1", "--target-version none", "--end-state aws-override --target-version v1.27.16+rke2r1",
		"--assume-version v1.24.17+rke2r1", "--no-leader-migration", "--keep-leader-migration", "--no-leader-migration --keep-leader-migration", "--cordon always", "--cordon never",
		"--chart-version 0.0.9 --chart-repo https://charts.example.com --ccm-image-repository registry.example.com/ccm --ccm-image-tag v1.26.5", "--chart-version latest", "--ccm-image-tag v1.27.2",
	} {
		lines = append(lines, "plan "+choice, "plan -o json "+choice, "explain "+choice+" --diff switch-to-external", "lint "+choice,
			"apply --dry-run --through --stage disable-leader-migration "+choice)
	}
	return lines
}

// writings are the ways to write a cluster.
var writings = []struct {
	name  string
	write func(t *testing.T, text string) string
}{
	{"cluster.yaml", func(_ *testing.T, text string) string { return text }},
	{"cluster.yaml", func(_ *testing.T, text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }},
	{"cluster.json", asJSON},
	{"cluster.json", func(t *testing.T, text string) string {
		var b bytes.Buffer
		assert.NilError(t, json.Indent(&b, []byte(asJSON(t, text)), "", "  "))
		return b.String()
	}},
}

func asJSON(t *testing.T, text string) string {
	return string(assert.Value(sigsyaml.YAMLToJSON([]byte(text)))(t)) + "\n"
}

func TestNoOutputShowsASecret(t *testing.T) {
	showsDiffs := regexp.MustCompile(`^(plan -o (json|yaml|markdown|html)|plan --all)$`)
	for i, d := range secretDocuments {
		for round := range writings {
			if testing.Short() && round > 0 {
				continue
			}
			t.Run(fmt.Sprint(d.name, d.values, "/", round), func(t *testing.T) {
				t.Parallel()
				p := &planter{round: round}
				name := writings[round].name
				text := writings[round].write(t, p.plant(t, d.name))
				folder := t.TempDir()
				file := filepath.Join(folder, name)
				before, inputs := map[string]string{name: text}, []string{file}
				if d.values != "" {
					before["values.yaml"] = p.plant(t, d.values)
					inputs = append(inputs, "--ccm-values", filepath.Join(folder, "values.yaml"))
				}
				for name, text := range before {
					assert.NilError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
				}
				lines := inEveryFormat()
				if i == 0 && round == 0 {
					lines = append(lines, withEveryChoice()...)
				}
				for _, line := range lines {
					r := p.run(t, text, append(strings.Fields(line), inputs...)...)
					assert.Truef(t, !showsDiffs.MatchString(line) || round >= 2 || strings.Count(r.stdout, "redacted") >= d.shown, "%s shows less than %d places with a secret, so that it could not fail:\n%s%s", line, d.shown, r.stdout, r.stderr)
				}
				p.run(t, text, "plan", "-")
				p.requireSafeFolder(t, strings.Fields(d.choices), inputs)
				p.requireKept(t, folder, append([]string{"--through", "--stage", d.last}, strings.Fields(d.choices)...), inputs, before)
			})
		}
	}
}

// requireSafeFolder makes sure that only the documents in a folder of plans have secrets.
func (p *planter) requireSafeFolder(t *testing.T, choices, inputs []string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "plans")
	r := p.run(t, "", slices.Concat([]string{"plan", "--out", out}, choices, inputs)...)
	assert.Mustf(t, r.code == transform.ExitDone, "exit %d: %s", r.code, r.stderr)
	files := assert.Value(filepath.Glob(filepath.Join(out, "*", "*", "*")))(t)
	kinds := map[string]int{}
	for _, file := range files {
		if kinds[filepath.Ext(file)]++; !slices.Contains([]string{".yaml", ".json", ".conf"}, filepath.Ext(file)) {
			p.requireNone(t, textOf(t, file), file)
		}
	}
	assert.Truef(t, kinds[".diff"] >= 3 && kinds[".md"] == 1, "the folder has %v", kinds)
	for _, choice := range []string{"--next", "--through --stage disable-leader-migration", "--undo switch-to-external"} {
		p.run(t, "", slices.Concat([]string{"apply", "--dry-run", "--plan", out}, strings.Fields(choice), inputs)...)
	}
}

// requireKept makes sure that what is written has every secret as it was, and that nothing else is written.
func (p *planter) requireKept(t *testing.T, folder string, choices, inputs []string, before map[string]string) {
	t.Helper()
	name := filepath.Base(inputs[0])
	requireFiles := func(want map[string]string, changed bool) {
		entries, err := os.ReadDir(folder)
		assert.Truef(t, err == nil && len(entries) == len(want), "other files are left: %v, %v", entries, err)
		for name, text := range want {
			info, err := os.Stat(filepath.Join(folder, name))
			assert.Truef(t, err == nil && info.Mode().Perm() == 0o600, "the file's mode changed: %v, %v", info, err)
			after := textOf(t, filepath.Join(folder, name))
			assert.Truef(t, (after != text) == changed, "%s is changed: %v", name, !changed)
			p.requireAll(t, text, after)
		}
	}
	requireFiles(before, false)
	for _, args := range [][]string{slices.Concat([]string{"apply", "--stdout"}, choices, inputs), slices.Concat([]string{"apply"}, choices, []string{"-"}, inputs[1:])} {
		if len(before) > 1 {
			continue // a stream is one file
		}
		r := runHere(t, before[name], args...)
		p.requireNone(t, r.stderr, "standard error")
		assert.Mustf(t, r.code == transform.ExitDone, "%v: exit %d: %s", args, r.code, r.stderr)
		p.requireAll(t, before[name], r.stdout)
	}
	r := p.run(t, "", slices.Concat([]string{"apply"}, choices, inputs)...)
	assert.Mustf(t, r.code == transform.ExitDone, "exit %d: %s", r.code, r.stderr)
	requireFiles(before, true)
}

func (p *planter) requireAll(t *testing.T, before, after string) {
	t.Helper()
	for n, v := range p.values {
		for part := range strings.SplitSeq(v, "\n") {
			if had, has := strings.Count(before, part), strings.Count(after, part); had != has {
				t.Errorf("%q from %s is %d times in what was written, not %d times", v, p.places[n], has, had)
			}
		}
	}
}

// TestNoReviewShowsASecret changes every secret of a cluster together with its next stage, so that both versions of each
// are in what changes.
func TestNoReviewShowsASecret(t *testing.T) {
	otherSecret := regexp.MustCompile(`([qQ])0(\d{3}[zZ])`)
	for round := range 2 {
		p := &planter{round: round}
		text := p.plant(t, "everywhere")
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			h := newHistory(t)
			h.write("cluster.yaml", text)
			h.commit("base")
			h.write("cluster.yaml", otherSecret.ReplaceAllString(text, "${1}5$2"))
			h.apply("--next", "cluster.yaml")
			for _, format := range append(report.OutputFormats, "text", "json", "yaml") {
				r := p.run(t, "", "review", "--base", "HEAD", "-o", format)
				least := map[string]int{"markdown": 15, "text": 15, "json": 40, "yaml": 40, "html": 15}[format]
				assert.Truef(t, strings.Count(r.stdout, "redacted") >= least, "-o %s shows little: %s%s", format, r.stdout, r.stderr)
			}
		})
	}
}

// TestNoVerdictShowsASecret plants secrets in a live cluster's pod, and reads the dump that others are sent as well.
func TestNoVerdictShowsASecret(t *testing.T) {
	p := &planter{}
	folder := t.TempDir()
	from, dump := filepath.Join(folder, "pods.yaml"), filepath.Join(folder, "dump.yaml")
	putFile(t, from, p.plant(t, "pods"))
	for _, format := range append(report.OutputFormats, "text", "json", "yaml") {
		p.run(t, "", "verify", "-o", format, "--from", from)
	}
	p.run(t, "", "verify", "--stage", "install-ccm", "--from", from)
	p.run(t, "", "verify", "--dump", dump, "--from", from)
	text := textOf(t, dump)
	if p.requireNone(t, text, "the dump"); strings.Count(text, "redacted") < 3*len(secretKinds) {
		t.Errorf("the dump has few arguments:\n%s", text)
	}
}
