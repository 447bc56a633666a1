// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"net/http"
	"os"
	"strings"

	"k8s.io/client-go/rest"
)

// credentials are those that change while the program runs.
type credentials struct {
	file string // with a token; "" for none
	// renewed says that a program renews them, so that what was refused may be accepted.
	renewed bool
}

// credentialsOf tells the file of a kubeconfig, which a program keeps, from one that
// holds the token of a Rancher: a person renews that, or nobody does.
func credentialsOf(config *rest.Config, c Connection) credentials {
	file := config.BearerTokenFile
	return credentials{file, file != "" && c.Rancher == "" || config.ExecProvider != nil || config.AuthProvider != nil}
}

// show puts the token that the file holds now into a request. client-go by itself
// reads it once a minute, for as long as which a new token would be of no use.
// What cannot be read is left to client-go, which has the last one.
func (c credentials) show(r *http.Request) {
	if token := c.token(); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
}

// changed reports whether the file holds another token than a request had.
func (c credentials) changed(r *http.Request) bool {
	token := c.token()
	return token != "" && r.Header.Get("Authorization") != "Bearer "+token
}

// token is what the file holds; "" where it cannot be read, or is being written.
func (c credentials) token() string {
	if c.file == "" {
		return ""
	}
	text, err := os.ReadFile(c.file)
	if err != nil {
		return ""
	}
	token, _ := Token(string(text))
	return token
}

// Token takes the blanks around a token away, and the mark that an editor begins a file
// with; false where that does not leave one token.
func Token(text string) (string, bool) {
	token := strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", false
	}
	return token, true
}
