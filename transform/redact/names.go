// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
)

// naming is what the name of a key says about its value.
type naming int

const (
	ordinary naming = iota
	// doubtful names hold secrets at times: their values are checked by their form.
	doubtful
	secret
)

// secretParts are in the names of secrets, however the words of a name are joined.
var secretParts = []string{
	"password", "passwd", "passphrase", "passcode", "pwd", "pswd", "secret", "token", "credential", "bearer",
	"accesskey", "privatekey", "privkey", "apikey", "appkey", "sshkey", "clientkey", "encryptionkey", "encryptkey", "decryptionkey",
	"signingkey", "signkey", "accountkey", "storagekey", "masterkey", "sharedkey", "sessionkey", "authkey", "rootkey",
	"hmackey", "aeskey", "cipherkey", "cryptkey", "licensekey", "licencekey", "unsealkey", "recoverykey", "deploykey", "hostkey", "serverkey",
	"servicekey", "functionkey", "adminkey", "writekey", "ingestkey", "integrationkey", "subscriptionkey", "datakey", "keymaterial", "pemkey", "keypem",
	"connectionstring", "connstring", "connstr", "kubeconfig", "dockerconfigjson", "dockerconfig", "dockercfg", "dockerauth",
	"basicauth", "htpasswd", "keytab", "pgpass", "netrc", "sshcert", "trustid", "userpass", "authorization", "stringdata",
	// in other languages
	"passwort", "kennwort", "geheim", "motdepasse", "contraseña", "contrasena", "senha", "segredo", "wachtwoord", "hasło", "haslo", "heslo",
	"jelszó", "jelszo", "lösenord", "losenord", "adgangskode", "salasana", "parola", "şifre", "sifre", "пароль", "密码", "密碼", "パスワード", "비밀번호",
}

// secretWords are words of the names of secrets that are parts of others as well.
var secretWords = map[string]bool{
	"pass": true, "pw": true, "psw": true, "psk": true, "cred": true, "creds": true, "jwt": true, "otp": true, "totp": true,
	"cookie": true, "cookies": true, "sas": true, "clave": true, "jeton": true, "passkey": true,
}

// doubtfulWords end names that may or may not be those of secrets.
var doubtfulWords = []string{"key", "keys", "auth", "hash", "salt", "cert", "signature", "sig", "dsn", "phrase", "seed", "nonce", "login", "id", "hook"}

// references end the names of keys that point to a secret, or describe one, and
// hold none.
var references = []string{
	"name", "names", "namespace", "namespaces", "ref", "refs", "file", "files", "filename", "path", "paths", "dir", "directory", "type", "types", "kind", "class",
	"ttl", "webhook", "version", "versions", "url", "urls", "uri", "mode", "policy", "policies", "expiry", "expiration", "expires", "timeout", "length", "size", "count",
	"limit", "enabled", "disabled", "required", "optional", "interval", "period", "duration", "seconds", "minutes", "hours", "days",
	"algorithm", "format", "provider", "providers", "issuer", "issuers", "audience", "audiences", "selector", "label", "labels", "annotations", "mount", "mounts",
	"volume", "volumes", "store", "syncs", "rotation", "strategy", "scope", "scopes", "endpoint", "endpoints", "server", "host", "port", "region", "bucket",
	"prefix", "suffix", "header", "headers", "env", "var", "field", "property", "template", "review", "reviews", "reviewer", "usage",
	"hint", "reminder", "strength", "rule", "rules", "manager", "controller", "driver", "plugin", "image", "repository", "arn", "config", "configuration",
	"options", "settings", "spec", "status", "algorithms", "renewal", "checksum", "digest", "valuessecrets", "pullsecrets", "tokenizer",
}

// holders end in the word of a reference, and hold secrets.
var holders = []string{"kubeconfig", "dockerconfig", "dockerauthconfig"}

// namings has what the first names said, for a few names make up most documents.
var (
	namings     sync.Map
	namingsLeft atomic.Int32
)

func init() {
	const most = 4096
	namingsLeft.Store(most)
}

// namingOf reports what the name of a key tells.
func namingOf(key string) naming {
	if known, ok := namings.Load(key); ok {
		return known.(naming)
	}
	n := nameTells(key)
	const longest = 64
	if len(key) <= longest && namingsLeft.Add(-1) >= 0 {
		namings.Store(strings.Clone(key), n)
	}
	return n
}

// nameTells looks at a name. The domain in front of the name of a label or an
// annotation tells nothing.
func nameTells(key string) naming {
	const longest = 256 // of a key that is a name
	if len(key) > longest {
		key = key[len(key)-longest:]
	}
	key = strings.Trim(key[strings.LastIndexByte(key, '/')+1:], `"'[]`)
	switch strings.ToLower(key) {
	case "":
		return ordinary
	case "auth", ".dockerconfigjson", ".dockercfg", "tls.key":
		return secret
	}
	flat := flatten(key)
	switch {
	case endsIn(flat, holders):
		return secret
	case endsIn(flat, references), strings.HasPrefix(flat, "existing"):
		return ordinary
	case strings.HasSuffix(flat, "pass") && !strings.HasSuffix(flat, "bypass") && !strings.HasSuffix(flat, "compass"):
		return secret
	}
	for _, p := range secretParts {
		if strings.Contains(flat, p) {
			return secret
		}
	}
	if hasSecretWord(key) {
		return secret
	}
	if endsIn(flat, doubtfulWords) {
		return doubtful
	}
	return ordinary
}

func secretKey(key string) bool { return namingOf(key) == secret }

func endsIn(s string, endings []string) bool {
	for _, e := range endings {
		if strings.HasSuffix(s, e) {
			return true
		}
	}
	return false
}

// flatten returns a name in lower case without what joins its words.
func flatten(key string) string {
	var b strings.Builder
	b.Grow(len(key))
	for _, r := range key {
		if !joins(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

func joins(r rune) bool { return r == '-' || r == '_' || r == '.' || r == ' ' || r == '$' || r == ':' }

// hasSecretWord looks at the words of a name one by one: db-pass, dbPass, DB_PASS.
func hasSecretWord(key string) bool {
	start := 0
	word := func(end int) bool {
		return secretWords[strings.ToLower(strings.TrimRight(key[start:end], "0123456789"))]
	}
	for i, r := range key {
		switch {
		case joins(r):
			if word(i) {
				return true
			}
			start = i + 1
		case i > start && unicode.IsUpper(r) && unicode.IsLower(rune(key[i-1])):
			if word(i) {
				return true
			}
			start = i
		}
	}
	return word(len(key))
}
