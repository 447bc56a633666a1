// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// WriteMarkdown writes a plan as a comment for a review: a table of the stages,
// and of each that is left why, what was found, the commands, and the diff to
// unfold.
func WriteMarkdown(w io.Writer, plan Plan) {
	fmt.Fprintf(w, "## %s\n\n", inline(title(plan)))
	fmt.Fprintf(w, "%s, from %s\n\n", inline(release(plan)), code(places(plan)))
	fmt.Fprint(w, "| stage | state | findings |\n|---|---|---|\n")
	for _, s := range plan.Stages {
		found := lists.Map(s.Findings, func(f transform.Finding) string { return string(f.Severity) + " " + code(f.Rule) })
		fmt.Fprintf(w, "| %s | %s | %s |\n", s.Name, emphasised(s), list(found))
	}
	fmt.Fprintln(w)
	io.WriteString(w, markdownFindings(plan.unstaged()))
	for _, s := range plan.Stages {
		if s.open() {
			markdownStage(w, s)
		}
	}
}

func emphasised(s Stage) string {
	if s.State == plan.Blocked {
		return "**" + s.Word() + "**"
	}
	return s.Word()
}

func markdownStage(w io.Writer, s Stage) {
	fmt.Fprintf(w, "### %s\n\n%s\n\n", s.Name, inline(s.Why))
	if text := s.effect(); text != "" {
		fmt.Fprintf(w, "%s\n\n", inline(text))
	}
	io.WriteString(w, markdownFindings(s.Findings))
	if len(s.Prepare) > 0 {
		fmt.Fprintf(w, "%s\n\n", inline(s.preparing()))
	}
	for _, a := range s.Actions {
		fmt.Fprintf(w, "%s:\n\n%s\n", inline(a.Why), fenced("sh", a.Command))
	}
	if s.Diff != "" {
		fmt.Fprintf(w, "<details><summary>Diff</summary>\n\n%s\n</details>\n\n", fenced("diff", s.Diff))
	}
}

// markdownFindings is a list with a blank line after it; nothing for none.
func markdownFindings(findings []transform.Finding) string {
	if len(findings) == 0 {
		return ""
	}
	return strings.Join(lists.Map(findings, findingLine), "") + "\n"
}

// findingLine is a finding as an item of a list.
func findingLine(f transform.Finding) string {
	accepted := ""
	if f.Accepted {
		accepted = " (accepted)"
	}
	line := fmt.Sprintf("- **%s** %s%s %s: %s", f.Severity, code(f.Rule), accepted, code(where(f)), inline(f.Message))
	if f.Fix != "" {
		line += " → " + inline(f.Fix)
	}
	return line + "\n"
}

// inline keeps text from being taken for markup, and from making lines, mentions of
// people, references and links.
func inline(text string) string {
	text = links.ReplaceAllString(markdownEscaper.Replace(text), "`$0`")
	if strings.IndexAny(text, "#+-=") == 0 {
		return "\\" + text
	}
	return text
}

var markdownEscaper = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", "\\|", "~", "\\~",
	"\r\n", " ", "\n", " ", "\r", " ")

// links are what GitHub and GitLab make links of, even where a backslash is before it: addresses, people,
// issues and merge requests by their signs, and commits by 7 to 64 digits. In a code span they do not.
var links = regexp.MustCompile(`://|@|#\b|[!$%]\d+|www\.|(?i:\bGH-\d+)|\b[0-9a-fA-F]{7,64}\b`)

// code shows a name as it is.
func code(text string) string {
	if text == "" || strings.ContainsAny(text, "`|\n\r") {
		return inline(text)
	}
	return "`" + text + "`"
}

// fenced puts text in a code block that nothing in it can end.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n"
}
