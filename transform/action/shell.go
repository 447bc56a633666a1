// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// constant is a format that the compiler accepts only where it is a constant: a
// variable of type string does not convert by itself.
type constant string

// Command returns a command for a POSIX shell: a constant text, in which a value is one word or a part of one.
// Whatever the value holds, the shell neither runs, splits nor expands it. In its format
//
//	%s   is a value as a word or a part of one; it is never between quotes
//	%--  is -- and a space where a value after it begins with a dash, and nothing
//	     else: a name is never taken for a flag. Flags come before it.
//
// It panics where format and values do not match, which is an error of the program.
func Command(format constant, values ...string) string {
	var b strings.Builder
	b.Grow(2 * len(format))
	in := quotes{}
	for rest := string(format); rest != ""; {
		switch {
		case strings.HasPrefix(rest, "%s"):
			if in.any() || len(values) == 0 {
				panic(fmt.Sprintf("action: no value belongs in %q at %q", format, rest))
			}
			b.WriteString(Word(values[0]))
			rest, values = rest[2:], values[1:]
		case strings.HasPrefix(rest, "%--"):
			if dashed(rest, values) {
				b.WriteString("-- ")
			}
			rest = rest[3:]
		default:
			n := 1 + strings.IndexByte(rest[1:]+"%", '%')
			in.see(rest[:n])
			b.WriteString(rest[:n])
			rest = rest[n:]
		}
	}
	if len(values) > 0 {
		panic(fmt.Sprintf("action: %d values too many for %q", len(values), format))
	}
	return b.String()
}

// Words returns a command of which every word is a value.
func Words(words ...string) string { return strings.Join(lists.Map(words, Word), " ") }

// Path returns the path of a file such that no program takes it for a flag or for
// its standard input.
func Path(file string) string {
	if strings.HasPrefix(file, "-") {
		return "./" + file
	}
	return file
}

// quotes follows which quotes are open in a format.
type quotes struct {
	open    byte
	escaped bool
}

func (q *quotes) any() bool { return q.open != 0 || q.escaped }

func (q *quotes) see(text string) {
	for _, c := range []byte(text) {
		switch {
		case q.escaped || c == '\\' && q.open != '\'':
			q.escaped = !q.escaped
		case q.open == c:
			q.open = 0
		case q.open == 0 && (c == '\'' || c == '"'):
			q.open = c
		}
	}
}

// dashed reports whether a value begins a word with a dash.
func dashed(format string, values []string) bool {
	for i, part := range strings.Split(format, "%s")[:len(values)] {
		begins := strings.HasSuffix(part, " ") || strings.HasSuffix(part, "%--")
		if begins && strings.HasPrefix(values[i], "-") {
			return true
		}
	}
	return false
}

// Arguments returns the arguments of a program that take names: after the verb, as
// people write them, or after all flags where one would be taken for a flag.
func Arguments(verb, names, flags []string) []string {
	if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "-") }) {
		return slices.Concat(verb, flags, []string{"--"}, names)
	}
	return slices.Concat(verb, names, flags)
}

// Substitute returns the program of sed that puts one text in the place of another,
// letter by letter. It is a value for Command like any other.
func Substitute(old, with string) string {
	return "s/" + pattern.Replace(old) + "/" + replacement.Replace(with) + "/"
}

var (
	pattern     = strings.NewReplacer(`\`, `\\`, "/", `\/`, ".", `\.`, "*", `\*`, "[", `\[`, "]", `\]`, "^", `\^`, "$", `\$`, "\n", `\n`)
	replacement = strings.NewReplacer(`\`, `\\`, "/", `\/`, "&", `\&`, "\n", `\n`)
)

// Cluster is how commands reach one cluster: words of a command, or "" for what is not named.
type Cluster struct{ Context, Kubeconfig string }

// ofCluster are the programs that take their cluster from a kubeconfig. A command that names its
// kubeconfig is for another cluster.
var ofCluster = regexp.MustCompile(`(?:^|[\s(;|&])(kubectl|helm|rke-lm verify) (?:--kubeconfig\b)?`)

// In returns a text in which each command names the cluster.
func (c Cluster) In(text string) string {
	if c == (Cluster{}) {
		return text
	}
	return ofCluster.ReplaceAllStringFunc(text, func(command string) string {
		if strings.HasSuffix(command, "--kubeconfig") {
			return command
		}
		context := "--context="
		if strings.HasSuffix(command, "helm ") {
			context = "--kube-context="
		}
		if c.Context != "" {
			command += context + c.Context + " "
		}
		if c.Kubeconfig != "" {
			command += "--kubeconfig=" + c.Kubeconfig + " "
		}
		return command
	})
}

// Word returns a value as one word. A value of plain characters stays as it is. What
// a terminal does not show, such as a line break, is written with printf, so that
// the command is one line and can be copied.
func Word(value string) string {
	switch {
	case plain(value):
		return value
	case strings.ContainsFunc(value, hidden):
		return printed(value)
	}
	return single(value)
}

// plain reports whether no shell takes a value for anything but a word. A leading =
// is the path of a program to zsh.
func plain(value string) bool {
	const others = "-_./+:@,="
	for _, r := range value {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(others, r)) {
			return false
		}
	}
	return value != "" && value[0] != '='
}

func single(value string) string { return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'" }

// hidden reports what a command does not hold as it is.
func hidden(r rune) bool { return r == utf8.RuneError || Hidden(r) }

// Hidden reports whether a terminal does not show a character as one of its own:
// control characters, those that turn the direction of text, those without width.
func Hidden(r rune) bool {
	return !unicode.IsGraphic(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// printed has printf write a value. The shell cuts line breaks off the end of what a
// program prints, so these are written after it.
func printed(value string) string {
	body := strings.TrimRight(value, "\n")
	var b strings.Builder
	for len(body) > 0 {
		r, size := utf8.DecodeRuneInString(body)
		switch {
		case hidden(r), r == '-' && b.Len() == 0: // printf has options
			for _, c := range []byte(body[:size]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		case r == '\\':
			b.WriteString(`\\`)
		case r == '%':
			b.WriteString("%%")
		case r == '\'':
			b.WriteString(`'\''`)
		default:
			b.WriteString(body[:size])
		}
		body = body[size:]
	}
	out := `"$(printf '` + b.String() + `')"`
	if b.Len() == 0 {
		out = ""
	}
	if breaks := value[len(strings.TrimRight(value, "\n")):]; breaks != "" {
		out += single(breaks)
	}
	return out
}
