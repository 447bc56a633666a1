// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
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

// prefixes are kinds of secrets that show by how they begin. The kinds are those
// that scanners of repositories look for.
var prefixes = []prefix{
	// AWS
	{"AKIA", alnum, 16}, {"ASIA", alnum, 16}, {"AGPA", alnum, 16}, {"AIDA", alnum, 16}, {"AROA", alnum, 16}, {"ABIA", alnum, 16}, {"ACCA", alnum, 16}, {"A3T", alnum, 17},
	{"ABSK", dotted, 40}, {"bedrock-api-key-", dotted, 20},
	// Kubernetes, RKE2 and Rancher
	{"K10", joined, 16}, {"token-", joined, 26}, {"kubeconfig-", joined, 26}, {"sha256~", word, 40},
	// source code and packages
	{"ghp_", word, 16}, {"gho_", word, 16}, {"ghu_", word, 16}, {"ghs_", word, 16}, {"ghr_", word, 16}, {"github_pat_", word, 16},
	{"glpat-", dotted, 16}, {"gldt-", word, 16}, {"glrt-", word, 16}, {"glcbt-", word, 16}, {"glptt-", word, 16}, {"glft-", word, 16}, {"glimt-", word, 16},
	{"glagent-", word, 16}, {"glsoat-", word, 16}, {"gloas-", word, 16}, {"glffct-", word, 16}, {"GR1348941", word, 16},
	{"ATATT3", dotted, 16}, {"ATBB", alnum, 16}, {"ATCTT3", dotted, 16}, {"BBDC-", dotted, 16}, {"npm_", alnum, 16}, {"pypi-", word, 16}, {"rubygems_", alnum, 16}, {"oy2", alnum, 40},
	{"dckr_pat_", word, 16}, {"dckr_oat_", word, 16}, {"AKCp", alnum, 16}, {"cmVmdGtu", alnum, 16}, {"CLOJARS_", alnum, 16}, {"sgp_", word, 16},
	// messages
	{"xox", word, 12}, {"xapp-", word, 16}, {"xwfp-", word, 16}, {"SG.", dotted, 16}, {"key-", alnum, 32}, {"whsec_", dotted, 16},
	{"hooks.slack.com/services/", dotted, 10}, {"hooks.slack.com/workflows/", dotted, 10}, {"hooks.slack.com/triggers/", dotted, 10},
	{"discord.com/api/webhooks/", dotted, 10}, {"discordapp.com/api/webhooks/", dotted, 10}, {"outlook.office.com/webhook/", charsetOf("_-.@/"), 10}, {"webhook.office.com/webhookb2/", charsetOf("_-.@/"), 10},
	{"api.telegram.org/bot", joined, 16}, {"events.pagerduty.com/integration/", dotted, 10}, {"events.pagerduty.com/x-ere/", dotted, 10}, {"hooks.zapier.com/hooks/", dotted, 10}, {"hc-ping.com/", dotted, 16},
	// clouds and infrastructure
	{"AIza", word, 20}, {"GOCSPX-", word, 16}, {"ya29.", dotted, 16}, {"1//0", word, 20}, {"dop_v1_", alnum, 16}, {"doo_v1_", alnum, 16}, {"dor_v1_", alnum, 16}, {"LTAI", alnum, 12}, {"AKID", alnum, 16},
	{"hvs.", word, 16}, {"hvb.", word, 16}, {"hvr.", word, 16}, {"s.", alnum, 24}, {"b.", alnum, 24}, {"tfp_", word, 16}, {"pul-", alnum, 16}, {"HRKU-", word, 16}, {"v1.0-", word, 24}, {"dt0c01.", dotted, 16}, {"dt0s", dotted, 20},
	{"fo1_", word, 16}, {"fm1", dotted, 40}, {"fm2_", dotted, 16}, {"nfp_", word, 16}, {"sbp_", word, 16}, {"pscale_tkn_", dotted, 16}, {"pscale_pw_", dotted, 16}, {"pscale_oauth_", dotted, 16},
	{"glsa_", word, 16}, {"glc_", dotted, 16}, {"NRAK-", alnum, 16}, {"NRII-", word, 16}, {"NRJS-", word, 16}, {"NRBR-", word, 16}, {"sntrys_", dotted, 16}, {"sntryu_", word, 16}, {"dapi", alnum, 32}, {"dose", alnum, 32},
	{"dp.pt.", word, 16}, {"dp.st.", dotted, 16}, {"dp.ct.", dotted, 16}, {"dp.sa.", dotted, 16}, {"ops_", dotted, 40}, {"A3-", word, 28}, {"AVNS_", word, 12}, {"cio", alnum, 40}, {"4b1d", alnum, 34},
	{"AGE-SECRET-KEY-", word, 16}, {"AQVN", word, 30}, {"t1.", dotted, 60}, {"ey", dotted, 0},
	// payment and programs
	{"sk_live_", word, 10}, {"sk_test_", word, 10}, {"rk_live_", word, 10}, {"rk_test_", word, 10}, {"pk_live_", word, 10}, {"sq0atp-", word, 16}, {"sq0csp-", word, 16}, {"EAAA", word, 40}, {"shpat_", alnum, 16}, {"shpca_", alnum, 16}, {"shppa_", alnum, 16}, {"shpss_", alnum, 16},
	{"FLWSECK", word, 12}, {"EZAK", alnum, 30}, {"EZTK", alnum, 30}, {"live_", alnum, 35}, {"test_", alnum, 35}, {"shippo_live_", alnum, 16}, {"shippo_test_", alnum, 16}, {"duffel_live_", word, 16}, {"duffel_test_", word, 16},
	{"lin_api_", alnum, 16}, {"secret_", alnum, 30}, {"ntn_", alnum, 30}, {"figd_", word, 16}, {"CFPAT-", word, 16}, {"PMAK-", word, 16}, {"rdme_", alnum, 16}, {"pnu_", alnum, 16}, {"aio_", alnum, 20}, {"fio-u-", word, 16}, {"sk.ey", dotted, 20}, {"pat", dotted, 60},
	{"sk-", word, 20}, {"hf_", alnum, 20}, {"api_org_", alnum, 16}, {"gsk_", alnum, 20}, {"r8_", word, 20}, {"pplx-", alnum, 20}, {"xai-", alnum, 20}, {"lsv2_", word, 20}, {"phc_", alnum, 20}, {"phx_", alnum, 20}, {"tk-us-", word, 16}, {"infracost-", alnum, 20}, {"ico-", alnum, 24},
	// passwords as programs store them
	{"$2a$", crypt, 16}, {"$2b$", crypt, 16}, {"$2x$", crypt, 16}, {"$2y$", crypt, 16}, {"$1$", crypt, 12}, {"$5$", crypt, 16}, {"$6$", crypt, 16}, {"$7$", crypt, 16}, {"$y$", crypt, 16}, {"$gy$", crypt, 16},
	{"$apr1$", crypt, 12}, {"$argon2", crypt, 16}, {"$pbkdf2", crypt, 16}, {"$scrypt$", crypt, 16}, {"{SSHA", charsetOf("}/+=$."), 16}, {"{SHA", charsetOf("}/+=$."), 16}, {"{CRYPT}", crypt, 8}, {"{PBKDF2", charsetOf("}/+=$.,-_"), 16},
}

// byFirst are the prefixes by their first character.
var byFirst = func() (by [256][]prefix) {
	for _, p := range prefixes {
		by[p.text[0]] = append(by[p.text[0]], p)
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
