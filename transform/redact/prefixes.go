// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	_ "embed"
	"iter"
	"strconv"
	"strings"
)

// charset is the set of characters that a token is made of.
type charset [256]bool

func charsetOf(more string) *charset {
	var s charset
	for c := range 256 {
		s[c] = classOf(byte(c)) != other || strings.IndexByte(more, byte(c)) >= 0
	}
	return &s
}

// end returns where the characters of the set end that a text has from an offset on.
func (s *charset) end(text []byte, from int) int {
	for from < len(text) && s[text[from]] {
		from++
	}
	return from
}

var (
	alnum  = charsetOf("")
	word   = charsetOf("_-")
	dotted = charsetOf("_-.=+/~")
	joined = charsetOf("_-.=+/~:")
	crypt  = charsetOf("./$=,+-")
	runs   = charsetOf("+/_-") // base64, in both of its alphabets

	keyWords      = charsetOf(" -") // of the line that ends a key
	parameterName = charsetOf("_-.")
)

// prefix is the beginning of a kind of secrets, and what follows it at least.
type prefix struct {
	text string
	of   *charset
	min  int
}

//go:embed prefixes.txt
var prefixList string

// byFirst are the kinds of secrets in prefixes.txt, by the first character of their prefixes.
var byFirst = func() (by [256][]prefix) {
	sets := map[string]*charset{
		"alnum": alnum, "word": word, "dotted": dotted, "joined": joined, "crypt": crypt,
		"url": charsetOf("_-.@/"), "hash": charsetOf("}/+=$."), "modular": charsetOf("}/+=$.,-_"),
	}
	for fields := range rows(prefixList) {
		least, _ := strconv.Atoi(fields[2])
		by[fields[0][0]] = append(by[fields[0][0]], prefix{fields[0], sets[fields[1]], least})
	}
	return by
}()

// rows yields the words of each line of a table, but for comments.
func rows(table string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(table) {
			if words := strings.Fields(line); len(words) > 0 && words[0] != "#" && !yield(words) {
				return
			}
		}
	}
}

// length returns how long the secret is that a text begins with; 0 for none.
func (p prefix) length(text []byte) int {
	if len(text) < len(p.text)+p.min || string(text[:len(p.text)]) != p.text {
		return 0
	}
	n := p.of.end(text, len(p.text))
	if n-len(p.text) < p.min || !p.fits(text[:n]) {
		return 0
	}
	return n
}

// fits looks at what else some kinds have in common: their prefixes begin words of
// everyday language as well.
func (p prefix) fits(s []byte) bool {
	switch p.text {
	case "token-", "kubeconfig-":
		return rancherToken(s)
	case "ey":
		return len(s) > 20 && s[2] == 'J'
	case "xox":
		return len(s) > 4 && (s[4] == '-' || s[4] == '.' && s[3] == 'e')
	case "s.", "b.", "test_", "live_", "secret_", "sk-", "A3T", "dapi", "dose", "cio", "oy2", "4b1d", "pat", "key-", "v1.0-", "dt0s", "fm1", "AKID", "LTAI", "EAAA":
		return grainOf(s[len(p.text):]).mixedUp()
	}
	return true
}

// mixedUp reports whether there are digits among the letters.
func (g grain) mixedUp() bool {
	n := g.letters[0] + g.letters[1] + g.numbers
	return g.numbers > 0 && n > g.numbers && 8*g.changes >= n && 2*g.wordy < n
}

// rancherToken reports whether a text is token-ABCDE:... as Rancher makes it.
func rancherToken(s []byte) bool {
	i := bytes.IndexByte(s, ':')
	return i > len("token-")+4 && len(s)-i > 20
}
