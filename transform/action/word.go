// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
