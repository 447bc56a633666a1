// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

var (
	path = regexp.MustCompile(`^/[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*/?$`)
	// variable is a reference that a shell, a kubelet or a template fills in.
	variable = regexp.MustCompile(`^(?:\$\([A-Za-z_][A-Za-z0-9_.]*\)|\$\{[A-Za-z_][A-Za-z0-9_.]*\}|\{\{[^{}]*\}\})$`)
	// plainName is what Kubernetes takes for the name of an object, or two of them.
	plainName = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?(?:[:/][a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?)?$`)
)

// harmless are values that say nothing: switches, paths, and references to a
// secret.
func harmless(v string) bool {
	v = strings.Trim(v, `"'`)
	switch strings.ToLower(v) {
	case "", "true", "false", "null", "~", "yes", "no", "|", "|-", "|+", ">", ">-", ">+", "{}", "[]", Mark:
		return true
	}
	switch v[0] {
	case '/':
		return path.MatchString(v) && !random([]byte(v))
	case '$', '{':
		return variable.MatchString(v)
	}
	return strings.HasPrefix(v, "secret://") || strings.HasPrefix(v, arn)
}

// refersByName reports whether a value looks like the name of an object.
func refersByName(v string) bool { return plainName.MatchString(v) && !anyRandom([]byte(v)) }

// class is the kind of a character in a token.
type class byte

const (
	other class = iota
	lower
	upper
	digit
)

func classOf(c byte) class {
	switch {
	case c >= 'a' && c <= 'z':
		return lower
	case c >= 'A' && c <= 'Z':
		return upper
	case c >= '0' && c <= '9':
		return digit
	}
	return other
}

// grain is what a token is made of.
type grain struct {
	letters [2]int // of lower and of upper case
	numbers int
	changes int // from one class to another
	wordy   int // characters in runs of five and more of lower case
	hex     bool
}

func grainOf(token []byte) grain {
	g := grain{hex: true}
	last, run := other, 0
	for _, c := range token {
		k := classOf(c)
		if k != lower {
			run = 0
		}
		switch k {
		case other:
			continue
		case lower:
			g.letters[0]++
			g.hex = g.hex && c <= 'f'
			if run++; run == 5 {
				g.wordy += run
			} else if run > 5 {
				g.wordy++
			}
		case upper:
			g.letters[1]++
			g.hex = g.hex && c <= 'F'
		case digit:
			g.numbers++
		}
		if last != other && k != last {
			g.changes++
		}
		last = k
	}
	g.hex = g.hex && (g.letters[0] == 0 || g.letters[1] == 0)
	return g
}

// random reports whether a token of one piece is random by its grain: a digest in
// hex, a name or a path changes between upper case, lower case and digits less
// often. The shorter a token is, the more there has to be.
func random(token []byte) bool {
	g := grainOf(token)
	n := g.letters[0] + g.letters[1] + g.numbers
	both := g.letters[0] > 0 && g.letters[1] > 0
	switch {
	case n < 20 || g.hex || 5*g.wordy > 2*n:
		return false
	case both && g.numbers > 0:
		return 20*g.changes >= 7*n || n >= 40 && 4*g.changes >= n
	case both:
		return n >= 32 && 50*g.changes >= 21*n
	}
	return g.numbers > 0 && n >= 24 && 5*g.changes >= n
}

// anyRandom looks at the pieces of a text as well.
func anyRandom(text []byte) bool { return len(randoms(text)) > 0 }

// plainArgument reports whether what follows -p is a port, a protocol or another flag, and no password.
func plainArgument(v string) bool {
	return strings.HasPrefix(v, "-") || harmless(v) || ports.MatchString(v)
}

var ports = regexp.MustCompile(`^(?:(?:(?:\d{1,3}\.){3}\d{1,3}:)?\d{1,5}(?:[-:]\d{1,5})*(?:/(?:tcp|udp|sctp))?|tcp|udp|icmp|sctp|all)$`)

// passwordLike reports whether a value is made as people make passwords: all kinds
// of characters in one word. YAML's own marks begin a word.
func passwordLike(v string) bool {
	v = strings.TrimLeft(v, "!#&*^~$")
	if len(v) < 8 || len(v) > 128 || strings.ContainsAny(v, " \t()[]{}|\\<>/,:;=\"'`") || !strings.ContainsAny(v, "!#$^&~") {
		return false
	}
	g := grainOf([]byte(v))
	return g.letters[0] > 0 && g.letters[1] > 0 && g.numbers > 0
}

// hexKey reports whether a value is a key in hex, and not the digest that its name
// calls it.
func hexKey(key, v string) bool {
	switch len(v) {
	case 32, 48, 64, 96, 128:
	default:
		return false
	}
	g := grainOf([]byte(v))
	if !g.hex || g.numbers == 0 || g.letters[0]+g.letters[1] == 0 || strings.ContainsAny(v, "-_./+:") {
		return false
	}
	flat := flatten(key)
	words := []string{"sha", "digest", "sum", "hash", "commit", "rev", "id", "etag", "version", "tag", "print", "image", "ref", "head", "build", "name", "generation"}
	return !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(flat, w) })
}

// passwords returns the words of a text that are made as people make passwords.
func passwords(text []byte) (found []span) {
	const marks, ends = "!#$^&~", " \t\r\n\"'`"
	for from := 0; from < len(text); {
		i := bytes.IndexAny(text[from:], marks)
		if i < 0 {
			break
		}
		i += from
		start := max(from, i-128)
		start += bytes.LastIndexAny(text[start:i], ends) + 1
		end := until(text[:min(len(text), start+256)], i, ends)
		if passwordLike(string(text[start:end])) {
			found = append(found, span{start, end})
		}
		from = end + 1
	}
	return found
}

// arn begins a name of AWS (docs.aws.amazon.com, Amazon Resource Names).
const arn = "arn:aws"

// randoms returns the tokens of a text that are random. Names of AWS have random
// parts, and are none.
func randoms(text []byte) (found []span) {
	const least = 20
	for i := 0; i < len(text); i++ {
		if !runs[text[i]] {
			continue
		}
		if text[i] == 'a' && bytes.HasPrefix(text[i:], []byte(arn)) {
			i = until(text, i, " \t\r\n\"'\\,")
			continue
		}
		start, end := i, skip(text, runs.end(text, i), "=")
		if i > 0 && text[i-1] == '\\' { // the letter of an escape
			start++
		}
		if end-start >= least {
			found = append(found, randomIn(text, start, end)...)
		}
		i = end - 1
	}
	return found
}

// randomIn looks at a run as a whole, and at its pieces between the characters that
// join words.
func randomIn(text []byte, start, end int) (found []span) {
	const whole = 40
	run := text[start:end]
	if len(run) >= whole {
		if g := grainOf(run); g.letters[0] > 0 && g.letters[1] > 0 && random(run) && !slug(run) { // UUIDs and names of Kubernetes have one case
			return []span{{start, end}}
		}
	}
	for i := start; i < end; {
		at := i
		for at < end && strings.IndexByte("/_-=", text[at]) < 0 {
			at++
		}
		if random(text[i:at]) {
			found = append(found, span{i, at})
		}
		i = at + 1
	}
	return found
}

// slug reports whether a run is made of short words that hyphens or slashes join.
func slug(run []byte) bool {
	joints := bytes.Count(run, []byte("-")) + bytes.Count(run, []byte("/")) + bytes.Count(run, []byte("_"))
	return 8*joints > len(run)
}
