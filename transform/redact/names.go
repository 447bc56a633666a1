// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
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

// table has the names of secrets and of what only refers to one, in lower case without what joins their words. The first
// row with a match decides.
var table = []struct {
	matches func(n name, entry string) bool
	naming  naming
	entries []string
}{
	{whole, secret, []string{"auth"}},
	{whole, ordinary, []string{"", "key", "keys"}},
	{atEnd, secret, []string{"kubeconfig", "dockerconfig", "dockerauthconfig"}}, // as a reference does
	{anywhere, secret, []string{
		"databaseur", "dbur", "dbconnectionur", "redisur", "mongour", "mongodbur", "postgresur", "postgresqlur", "pgur", "mysqlur", "mariadbur", "mssqlur",
		"amqpur", "rabbitmqur", "jdbcur", "brokerur", "connectionur", "smtpur", "webhookur", "hookur", "sasur", "signedur",
		"slackwebhook", "discordwebhook", "teamswebhook", "chatwebhook", "slackur", "discordur", "teamsur",
	}}, // their URLs have the secret in them
	{atEnd, reference, []string{
		"name", "names", "namespace", "namespaces", "ref", "refs", "file", "files", "filename", "path", "paths", "dir", "directory", "type", "types", "kind", "class",
		"ttl", "version", "versions", "url", "urls", "uri", "mode", "policy", "policies", "expiry", "expiration", "expires", "timeout", "length", "size", "count",
		"limit", "enabled", "disabled", "required", "optional", "interval", "period", "duration", "seconds", "minutes", "hours", "days",
		"algorithm", "format", "provider", "providers", "issuer", "issuers", "audience", "audiences", "selector", "label", "labels", "annotations", "mount", "mounts",
		"volume", "volumes", "store", "syncs", "rotation", "strategy", "scope", "scopes", "endpoint", "endpoints", "server", "host", "port", "region", "bucket",
		"prefix", "suffix", "header", "headers", "env", "var", "field", "property", "template", "review", "reviews", "reviewer", "usage", "webhook",
		"hint", "reminder", "strength", "rule", "rules", "manager", "controller", "driver", "plugin", "image", "repository", "arn", "config", "configuration",
		"options", "settings", "spec", "status", "algorithms", "renewal", "checksum", "digest", "valuessecrets", "pullsecrets", "tokenizer",
	}},
	{aWord, ordinary, []string{"existing"}},
	{atEnd, ordinary, []string{
		"bypass", "compass", "encompass", "reseed", "monkey", "donkey", "turkey", "hockey", "hotkey", "pub",
		"topologykey", "labelkey", "annotationkey", "taintkey", "partitionkey", "cachekey", "publickey", "primarykey", "foreignkey", "sortkey", "rangekey", "hashkey",
		"orderingkey", "messagekey", "groupkey", "mapkey", "indexkey", "configkey", "valuekey", "parameterkey", "lookupkey", "kmskey", "publickeys", "labelkeys",
	}},
	{atEnd, secret, []string{"pass", "key", "keys", "seed", "seeds", "phrase", "salt", "dsn", "pw"}},
	{anywhere, secret, []string{
		"password", "passwd", "passphrase", "passcode", "pwd", "pswd", "secret", "token", "credential", "bearer", "mnemonic", "keymaterial", "keypem", "keydata", "keybase64",
		"accesskey", "privatekey", "privkey", "apikey", "sshkey", "tlskey", "encryptionkey", "signingkey", "idrsa", "iddsa", "idecdsa", "ided25519",
		"connectionstring", "connstring", "connstr", "kubeconfig", "dockerconfigjson", "dockerconfig", "dockercfg", "dockerauth",
		"basicauth", "registryauth", "proxyauth", "snmpcommunity", "htpasswd", "keytab", "pgpass", "netrc", "sshcert", "trustid", "userpass", "authorization", "stringdata", "userdata", "customdata", "cloudinit",
		// in other languages
		"passwort", "kennwort", "geheim", "motdepasse", "contraseña", "contrasena", "senha", "segredo", "wachtwoord", "hasło", "haslo", "heslo",
		"jelszó", "jelszo", "lösenord", "losenord", "adgangskode", "salasana", "parola", "şifre", "sifre", "пароль", "密码", "密碼", "パスワード", "비밀번호",
	}},
	{aWord, secret, []string{"pass", "pw", "psw", "psk", "cred", "creds", "jwt", "hmac", "pat", "otp", "totp", "cookie", "cookies", "sas", "clave", "jeton"}},
}

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

// namings has what the first names said, for a few names make up most documents.
var (
	namings     sync.Map
	namingsKept atomic.Int32
)

// namingOf reports what the name of a key tells.
func namingOf(key string) naming {
	if known, ok := namings.Load(key); ok {
		return known.(naming)
	}
	n := nameTells(key)
	const longest, most = 64, 4096
	if len(key) <= longest && namingsKept.Load() < most {
		namingsKept.Add(1)
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
	if key == kubeconfigFlag {
		return reference
	}
	n := name{flat: flatten(key), words: lists.Map(wordsOf(key), unnumbered)}
	n.bare = unnumbered(n.flat)
	for _, row := range table {
		for _, entry := range row.entries {
			if row.matches(n, entry) {
				return row.naming
			}
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
		case joins(r):
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

func joins(r rune) bool { return strings.ContainsRune("-_. $:", r) }
