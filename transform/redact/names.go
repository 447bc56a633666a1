// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// naming is what the name of a key says about its value.
type naming int

const (
	ordinary naming = iota
	secret
	// reference is the name of what points to a secret, or describes one, and holds none.
	reference
)

//go:embed names.txt
var nameList string

// namingRow has names that say the same.
type namingRow struct {
	matches func(n name, entry string) bool
	naming  naming
	entries []string
}

// namingTable has the rows of names.txt, of which the first one with a match decides.
var namingTable = func() (table []namingRow) {
	where := map[string]func(n name, entry string) bool{"whole": whole, "atEnd": atEnd, "anywhere": anywhere, "aWord": aWord}
	says := map[string]naming{"secret": secret, "ordinary": ordinary, "reference": reference}
	for words := range lists.Rows(nameList) {
		table = append(table, namingRow{where[words[0]], says[words[1]], words[2:]})
	}
	return table
}()

// kubeconfigFlag names a file, and each other kubeconfig is one.
const kubeconfigFlag = "--kubeconfig"

// name is one of a key: its words joined, the same without the number of one of several, and the words without theirs.
type name struct {
	flat, bare string
	words      []string
}

func whole(n name, entry string) bool    { return n.bare == entry }
func atEnd(n name, entry string) bool    { return strings.HasSuffix(n.bare, entry) }
func anywhere(n name, entry string) bool { return strings.Contains(n.flat, entry) }
func aWord(n name, entry string) bool    { return slices.Contains(n.words, entry) }

func unnumbered(word string) string { return strings.TrimRight(word, "0123456789") }

// namings keeps the naming of the first names, for a few names make up most documents: without it a plan takes 1.5 times
// the CPU.
var (
	namings     sync.Map
	namingsKept atomic.Int32
)

// namingOf reports what the name of a key tells.
func namingOf(key string) naming {
	if known, ok := namings.Load(key); ok {
		return known.(naming)
	}
	n := classify(key)
	const longest, most = 64, 4096
	if len(key) <= longest && namingsKept.Load() < most {
		namingsKept.Add(1)
		namings.Store(strings.Clone(key), n)
	}
	return n
}

// classify is namingOf without the memory. The domain in front of the name of a label or an
// annotation tells nothing.
func classify(key string) naming {
	const longest = 256 // of a key that is a name
	if len(key) > longest {
		key = key[len(key)-longest:]
	}
	key = strings.Trim(key[strings.LastIndexByte(key, '/')+1:], `"'[]`)
	if key == kubeconfigFlag {
		return reference
	}
	n := name{flat: flatten(key), words: lists.Map(wordsOf(key), unnumbered)}
	if n.bare = unnumbered(n.flat); n.bare == "" {
		return ordinary
	}
	for _, row := range namingTable {
		if slices.ContainsFunc(row.entries, func(entry string) bool { return row.matches(n, entry) }) {
			return row.naming
		}
	}
	return ordinary
}

func secretKey(key string) bool { return namingOf(key) == secret }

// flatten returns a name in lower case without what joins its words.
func flatten(key string) string { return strings.Join(wordsOf(key), "") }

// wordsOf returns the words of a name in lower case: those of db-pass, dbPass, DB_PASS are the same.
func wordsOf(key string) []string {
	var b strings.Builder
	var last rune
	for _, r := range key {
		switch {
		case isSeparator(r):
			b.WriteByte(' ')
		case unicode.IsUpper(r) && unicode.IsLower(last):
			b.WriteByte(' ')
			fallthrough
		default:
			b.WriteRune(unicode.ToLower(r))
		}
		last = r
	}
	return strings.Fields(b.String())
}

func isSeparator(r rune) bool { return strings.ContainsRune("-_. $:", r) }

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
	for fields := range lists.Rows(prefixList) {
		least, _ := strconv.Atoi(fields[2])
		by[fields[0][0]] = append(by[fields[0][0]], prefix{fields[0], sets[fields[1]], least})
	}
	return by
}()

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
