// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
)

// Every planted secret is made of its own mark, repeated, so that a part of it
// is recognised as well, in upper and in lower case.
var secretMark = regexp.MustCompile(`(?i)q(\d{4})z`)

// fill returns n characters of marks. The case changes from mark to mark, for
// some secrets are known by their mixture.
func fill(serial, n int) string {
	mark := fmt.Sprintf("Q%04dz", serial)
	return strings.Repeat(mark, n/len(mark)+1)[:n]
}

func low(serial, n int) string { return strings.ToLower(fill(serial, n)) }

// secretKind is one kind of secret.
type secretKind struct {
	name string // of the kind
	key  string // under which people write it
	make func(serial int) string
	// bare means that the secret is known by its form, wherever it is; the
	// others are known by their key.
	bare bool
}

var secretKinds = []secretKind{
	{"an AWS access key id", "AWS_ACCESS_KEY_ID", func(n int) string { return "AKIA" + strings.ToUpper(fill(n, 12)) + "FAKE" }, true},
	{"an AWS access key id of a session", "AWS_ACCESS_KEY_ID", func(n int) string { return "ASIA" + strings.ToUpper(fill(n, 12)) + "FAKE" }, true},
	{"an AWS secret access key", "AWS_SECRET_ACCESS_KEY", func(n int) string { return fill(n, 18) + "/+" + fill(n, 20) }, true},
	{"an AWS secret access key that starts with a slash", "AWS_SECRET_ACCESS_KEY", func(n int) string { return "/" + fill(n, 39) }, true},
	{"an AWS session token", "AWS_SESSION_TOKEN", func(n int) string { return fill(n, 90) + "/+" + fill(n, 90) + "==" }, true},
	{"an S3 access key", "accessKey", func(n int) string { return "minio-" + low(n, 12) }, false},
	{"an S3 secret key", "secretKey", func(n int) string { return "minio-" + fill(n, 18) }, false},
	{"a registry's password", "password", func(n int) string { return "pull-" + fill(n, 12) }, false},
	{"a registry's auth", "auth", func(n int) string { return fill(n, 24) }, false},
	{"a registry's identity token", "identityToken", func(n int) string { return "id-" + low(n, 18) }, false},
	{"a token of Rancher", "CATTLE_TOKEN", func(n int) string { return "token-" + low(n, 6) + ":" + low(n, 54) }, true},
	{"a token of a kubeconfig", "token", func(n int) string { return "kubeconfig-u-" + low(n, 6) + ":" + low(n, 54) }, true},
	{"an SSH private key", "sshPrivateKey", func(n int) string {
		return "-----BEGIN OPENSSH PRIVATE KEY-----\n" + fill(n, 70) + "\n" + fill(n, 24) + "\n-----END OPENSSH PRIVATE KEY-----"
	}, true},
	{"the password of a URL", "HTTPS_PROXY", func(n int) string { return "http://proxy:" + fill(n, 12) + "@proxy.example.com:3128/path" }, true},
	{"a bearer token", "authorization", func(n int) string { return "Bearer " + low(n, 30) }, true},
	{"a JWT", "jwt", func(n int) string { return "eyJ" + fill(n, 30) + "." + fill(n, 40) + "." + fill(n, 30) }, true},
	{"a token of GitHub", "GITHUB_TOKEN", func(n int) string { return "ghp_" + fill(n, 36) }, true},
	{"a fine-grained token of GitHub", "GITHUB_TOKEN", func(n int) string { return "github_pat_" + fill(n, 22) + "_" + fill(n, 59) }, true},
	{"a join token of RKE2", "token", func(n int) string { return "K10" + low(n, 64) + "::server:" + low(n, 32) }, true},
	{"a join token of RKE2 with a password in base64", "token", func(n int) string { return "K10" + low(n, 64) + "::server:" + low(n, 12) + "/+" + low(n, 12) + "=" }, true},
	{"a bootstrap token", "token", func(n int) string { return low(n, 6) + "." + low(n, 16) }, true},
	{"a data source of Go", "dsn", func(n int) string { return "app:" + low(n, 12) + "@tcp(db.example.com:3306)/orders" }, true},
	{"a webhook of Zapier", "url", func(n int) string { return "https://hooks.zapier.com/hooks/catch/" + low(n, 24) }, true},
	{"a check of Healthchecks", "url", func(n int) string { return "https://hc-ping.com/" + low(n, 24) }, true},
	{"a password", "adminPassword", func(n int) string { return "hunter-" + low(n, 12) }, false},
	{"a password with a comma in it", "adminPassword", func(n int) string { return low(n, 12) + "," + low(n, 12) }, false},
	{"a password with blanks in it", "adminPassword", func(n int) string { return "correct " + low(n, 12) + " " + low(n, 12) }, false},
	{"a password that starts with a bracket", "adminPassword", func(n int) string { return "{" + low(n, 12) + "]" }, false},
	{"a token", "token", func(n int) string { return low(n, 12) }, false},
	{"a secret", "secret", func(n int) string { return low(n, 12) }, false},
	{"an API key", "apiKey", func(n int) string { return low(n, 12) }, false},
	{"a client secret", "clientSecret", func(n int) string { return low(n, 12) + "~" + low(n, 12) }, false},
}
