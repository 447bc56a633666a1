// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// TestDocsHaveTheTablesOfTheCode holds sections of documents to tables of the code, and that of attacks to the cases of the gate.
func TestDocsHaveTheTablesOfTheCode(t *testing.T) {
	for file, sections := range map[string]map[string]string{
		"docs/rules.md": {
			"rules": ruleRows(), "refusals": refusalRows(), "live": liveRows(), "admission": acceptableRows(rollout.Rules()), "changes": acceptableRows(review.Rules()),
		},
		"docs/review.md":      {"gate": gateRows(t)},
		"docs/background.md":  {"ranchers": rancherRows()},
		"docs/permissions.md": verbRoles(),
	} {
		is := readDoc(t, file)
		should := is
		for section, text := range sections {
			should = between(t, should, section, text)
		}
		checkDoc(t, file, is, should)
	}
}

// gateRows has a row for what stops changes: how many cases of the gate it stops, and the first of them.
func gateRows(t *testing.T) string {
	files := assert.Value(filepath.Glob("testdata/gate/*.txtar"))(t)
	stopped := map[string][]string{}
	for _, file := range files {
		if c := readGateCase(t, file); len(c.want) > 0 {
			rules := strings.Join(slices.Sorted(slices.Values(c.want)), ", ")
			list := append(stopped[rules], strings.Join(strings.Fields(c.why), " "))
			if strings.HasPrefix(list[0], "The same") { // as the case before it
				slices.Reverse(list)
			}
			stopped[rules] = list
		}
	}
	rows := "| The change, for example | Stopped by | Exit code | Cases |\n|---|---|---|---|\n"
	for _, rules := range slices.Sorted(maps.Keys(stopped)) {
		code, by := "1", "`"+strings.ReplaceAll(rules, ", ", "`, `")+"`"
		if rules == "refused" || strings.HasSuffix(rules, "unreadable") {
			code = "2 or 4"
		}
		by = strings.NewReplacer("`refused`", "an error, and no review", "`unreadable`", "an error for the file").Replace(by)
		rows += fmt.Sprintf("| %s | %s | %s | %d |\n", cell(stopped[rules][0]), by, code, len(stopped[rules]))
	}
	return rows
}

// rancherRows are the table of Ranchers.
func rancherRows() string {
	rows := "| Rancher | Webhook | Cluster API | external-aws of RKE from | webhook keeps the order of kube-apiserver-arg from | keeps every argument from | UI needs an entry without a selector | 403 instead of 401 for an expired token from |\n|---|---|---|---|---|---|---|---|\n"
	from := func(first string) string { return cmp.Or(strings.TrimPrefix(first, "v"), "never") }
	for _, r := range k8s.RancherMinors() {
		plain := "no"
		if r.PlainEntry {
			plain = "yes"
		}
		rows += fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s |\n", strings.TrimPrefix(r.Minor, "v"), strings.TrimPrefix(r.Webhook, "v"), r.ClusterAPI,
			from(r.ExternalProvider), from(r.OrderKept), from(r.ArgsKept), plain, from(r.TokenForbidden))
	}
	return rows
}

// between puts text between <!-- name --> and <!-- /name -->.
func between(t *testing.T, doc, name, text string) string {
	t.Helper()
	head, rest, found := strings.Cut(doc, "<!-- "+name+" -->\n")
	_, tail, ended := strings.Cut(rest, "<!-- /"+name+" -->\n")
	assert.Mustf(t, found && ended, "there is nothing between <!-- %s --> and <!-- /%[1]s -->", name)
	return head + "<!-- " + name + " -->\n" + text + "<!-- /" + name + " -->\n" + tail
}

func ruleRows() string {
	var b strings.Builder
	b.WriteString("| Rule | Distro | Severity | Stages | `--accept` | What it finds |\n|---|---|---|---|---|---|\n")
	for _, d := range formats() {
		for _, r := range d.Rules {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", r.ID, strings.ToUpper(d.Name), r.Severity, guarded(r), acceptance(r), cell(r.Doc))
		}
	}
	return b.String()
}

func liveRows() string {
	var b strings.Builder
	b.WriteString("| Rule | Severity | Stages | What it finds |\n|---|---|---|---|\n")
	for _, r := range check.Rules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, r.Severity, guarded(r), cell(r.Doc))
	}
	return b.String()
}

func acceptableRows(rules []transform.Rule) string {
	var b strings.Builder
	b.WriteString("| Rule | Severity | `--accept` | What it finds |\n|---|---|---|---|\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, r.Severity, acceptance(r), cell(r.Doc))
	}
	return b.String()
}

func acceptance(r transform.Rule) string {
	if r.Acceptable() {
		return "yes"
	}
	return "no"
}

// guarded names the stages at which a rule speaks.
func guarded(r transform.Rule) string {
	switch {
	case len(r.Guards) == 0 && r.Severity == transform.Error:
		return "none: it refuses the document"
	case len(r.Guards) == 0:
		return "none"
	case slices.Equal(r.Guards, stages.Names()):
		return "all"
	}
	return "`" + strings.Join(r.Guards, "`, `") + "`"
}

// cell keeps a text in its cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// refusal is a rule that ends the reading of a document. Its golden case shows it.
type refusal struct {
	rule, golden string
	code         int
	doc          string
}

var documentedRefusals = []refusal{
	{"templated", "refused-helm-template", transform.ExitInput, "The file is a template: `{{ }}` is outside of quotes. Render it, plan the result, and apply the diff to the template."},
	{"encrypted", "refused-sops", transform.ExitInput, "SOPS encrypted the file, and an edit would break its checksum. Decrypt it first, or make the printed change inside of `sops`."},
	{transform.RuleDuplicate, "rule-duplicate-cluster", transform.ExitFound, "The cluster is described twice in what is applied together: a file, a folder, a kustomization, a bundle of Fleet. Remove one, or accept the rule."},
	{transform.RuleNotMigratable, "refused-k3s", transform.ExitRefused, "The document is understood, but holds no cluster that can be migrated."},
}

func refusalRows() string {
	var b strings.Builder
	b.WriteString("| Rule | Exit code | What it means, and what to do |\n|---|---|---|\n")
	for _, r := range documentedRefusals {
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", r.rule, r.code, cell(r.doc))
	}
	return b.String()
}

func TestRulesThatRefuseAreDocumentedAsTheyAre(t *testing.T) {
	for _, r := range documentedRefusals {
		got := runHere(t, "", "plan", "-o", "json", inputOf(t, r.golden))
		plans := decoded[report.Plans](t, got.stdout)
		assert.Truef(t, got.code == r.code && len(plans.Errors) != 0 && plans.Errors[0].Rule == r.rule, "%s: exit code %d and %+v; documented are %d and %s", r.golden, got.code, plans.Errors, r.code, r.rule)
	}
}

func TestDocsListEveryExitCode(t *testing.T) {
	doc := readDoc(t, "docs/exit-codes.md")
	var want []string
	for code := transform.ExitDone; code <= transform.ExitRefused; code++ {
		want = append(want, strconv.Itoa(code))
	}
	for what, pattern := range map[string]string{"table": `(?m)^\| (\d+) \|`, "sections": `(?m)^## (\d+): `} {
		got := lists.Map(regexp.MustCompile(pattern).FindAllStringSubmatch(doc, -1), func(m []string) string { return m[1] })
		assert.Truef(t, slices.Equal(got, want), "docs/exit-codes.md: the %s have the codes %v; there are %v", what, got, want)
	}
}

// TestDocsListEveryJSONField compares the tables of docs/json.md with the types.
func TestDocsListEveryJSONField(t *testing.T) {
	for section, v := range map[string]any{
		"plan -o json": report.Plans{}, "explain -o json": report.EffectiveConfigs{}, "review -o json": report.Review{}, "version -o json": build{}, "verify -o json": report.Verification{},
		"leaders -o json": report.Ownership{}, "rules -o json": report.Rules{}, "status -o json": report.Statuses{}, "migrate -o json": report.RunEvent{}, "migrate --selector -o json": report.Migration{}, "Audit log": migrate.Entry{},
	} {
		documented := documentedFields(t, section)
		fields := map[string]string{}
		jsonFields(fields, "", reflect.TypeOf(v))
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			got, found := documented[name]
			assert.Truef(t, found && got == fields[name], "docs/json.md, %s: the row for %s should begin\n| `%s` | %s |\nand has %q", section, name, name, fields[name], got)
		}
		for _, name := range slices.Sorted(maps.Keys(documented)) {
			assert.Truef(t, fields[name] != "", "docs/json.md, %s: there is no field %s", section, name)
		}
	}
}

// documentedFields returns the types of a section's fields, as its table has them.
func documentedFields(t *testing.T, section string) map[string]string {
	t.Helper()
	_, text, found := strings.Cut(readDoc(t, "docs/json.md"), "\n## "+section+"\n")
	assert.Mustf(t, found, "docs/json.md has no section on %s", section)
	text, _, _ = strings.Cut(text, "\n## ")
	fields := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(text, -1) {
		fields[m[1]] = m[2]
	}
	return fields
}

// jsonFields adds the fields of a struct by their paths.
func jsonFields(fields map[string]string, prefix string, of reflect.Type) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		switch {
		case f.Anonymous && name == "":
			jsonFields(fields, prefix, f.Type)
		case f.IsExported():
			kind := jsonType(f.Type)
			if option == "omitempty" || option == "omitzero" {
				kind += ", optional"
			}
			fields[prefix+name] = kind
			within(fields, prefix+name, f.Type)
		}
	}
}

// within adds the fields of what a value holds.
func within(fields map[string]string, name string, of reflect.Type) {
	switch of.Kind() {
	case reflect.Pointer:
		within(fields, name, of.Elem())
	case reflect.Slice:
		within(fields, name+"[]", of.Elem())
	case reflect.Map:
		within(fields, name+".<key>", of.Elem())
	case reflect.Struct:
		jsonFields(fields, name+".", of)
	}
}

func jsonType(of reflect.Type) string {
	if of == reflect.TypeFor[time.Time]() {
		return "string"
	}
	switch of.Kind() {
	case reflect.Pointer:
		return jsonType(of.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	case reflect.Int:
		return "integer"
	case reflect.Slice:
		return "array of " + plural(jsonType(of.Elem()))
	case reflect.Map:
		return "object of " + plural(jsonType(of.Elem()))
	case reflect.Struct:
		return "object"
	case reflect.Interface:
		return "any value"
	}
	return of.Kind().String()
}

func plural(kind string) string {
	if head, rest, found := strings.Cut(kind, " of "); found {
		return head + "s of " + rest
	}
	return kind + "s"
}

func TestDocsAreRightThatNoJSONFieldIsNull(t *testing.T) {
	for _, verb := range []string{"plan", "explain"} {
		shows(t, transform.ExitDone, verb+" -o json ../../examples", "!\": null")
	}
}

// pathInCode is a path from the root of the repository on.
var pathInCode = regexp.MustCompile(`(?:^|[\s"'(=])(?:\./)?((?:cmd|transform|internal|examples|docs|scripts|tools|\.ci)/[^\s"'),:;]*)`)

func TestDocsNameTargetsPathsAndFlagsThatExist(t *testing.T) {
	root, targets := newRoot(streams{}), makeTargets(t)
	target, placeholder := regexp.MustCompile(`^(?:\$ )?make ([a-z0-9-]+)`), regexp.MustCompile(`<[^>]*>`)
	for _, file := range documents(t) {
		for _, code := range codeOf(readDoc(t, file)) {
			m := target.FindStringSubmatch(code)
			assert.Truef(t, m == nil || slices.Contains(targets, m[1]), "%s: the Makefile has no target %s", file, code)
			for _, m := range pathInCode.FindAllStringSubmatch(code, -1) {
				pattern := placeholder.ReplaceAllString(strings.TrimSuffix(m[1], "/..."), "*")
				found, err := filepath.Glob(filepath.Join("../..", pattern))
				assert.Truef(t, err == nil && len(found) != 0, "%s names %s, which does not exist", file, m[1])
			}
			command, isCommand := strings.CutPrefix(strings.TrimPrefix(code, "$ "), "rke-lm ")
			if !isCommand {
				continue
			}
			words := strings.Fields(command)
			c, _, err := root.Find(words)
			assert.Mustf(t, err == nil, "%s: %s: %v", file, code, err)
			for _, w := range words {
				flag, _, _ := strings.Cut(w, "=")
				name, isFlag := strings.CutPrefix(flag, "--")
				assert.Truef(t, !isFlag || c.Flag(name) != nil, "%s: %s: there is no flag %s", file, code, flag)
			}
		}
	}
}

func TestDocsGuideThroughEveryStage(t *testing.T) {
	doc := readDoc(t, "docs/stages.md")
	for _, stage := range stages.Names() {
		assert.Truef(t, regexp.MustCompile(`(?m)^### .*\b`+stage+`$`).MatchString(doc), "docs/stages.md has no section on %s", stage)
	}
}

func TestDocsMapEveryPackage(t *testing.T) {
	doc := readDoc(t, "ARCHITECTURE.md")
	for _, root := range []string{"cmd", "internal", "transform"} {
		walk(t, root, func(file string) {
			folder := path.Dir(file)
			assert.Truef(t, !strings.HasSuffix(file, ".go") || strings.Contains(doc, "`"+folder+"`"), "ARCHITECTURE.md does not name `%s`", folder)
		})
	}
}

// link is the target of a Markdown link.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, file := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(readDoc(t, file), -1) {
			u, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if u.Scheme != "" {
				continue
			}
			target := file
			if u.Path != "" {
				target = path.Join(path.Dir(file), u.Path)
			}
			if _, err := os.Stat(filepath.Join("../..", target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, m[1])
			} else if u.Fragment != "" && !slices.Contains(anchors(readDoc(t, target)), u.Fragment) {
				t.Errorf("%s links to %s, where no heading is called that", file, m[1])
			}
		}
	}
}

// anchors returns the names by which the headings of a document can be linked to.
func anchors(doc string) []string {
	return lists.Map(regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(doc, -1), func(m []string) string {
		name := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		return strings.ReplaceAll(name, " ", "-")
	})
}

// codeOf returns the code spans of a document and the lines of its fenced blocks.
func codeOf(doc string) []string {
	var code []string
	fenced := false
	for line := range strings.Lines(doc) {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fenced = !fenced
		case fenced:
			code = append(code, strings.TrimSpace(line))
		default:
			for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
				code = append(code, m[1])
			}
		}
	}
	return code
}

// documents lists the Markdown files of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	var found []string
	walk(t, ".", func(file string) {
		if path.Ext(file) == ".md" {
			found = append(found, file)
		}
	})
	return found
}

// walk calls visit for the files below a folder, but not for hidden ones, those
// of test data, nor those of another module.
func walk(t *testing.T, folder string, visit func(file string)) {
	t.Helper()
	root := os.DirFS("../..")
	err := fs.WalkDir(root, folder, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !e.IsDir():
			visit(file)
			return nil
		case file == ".":
			return nil
		}
		_, err = fs.Stat(root, path.Join(file, "go.mod"))
		if strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" || err == nil {
			return fs.SkipDir
		}
		return nil
	})
	assert.NilError(t, err)
}
