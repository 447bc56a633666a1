// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"net/http"
	"os"
	"strings"
	"sync/atomic"
)

// tokens sends the token that a file holds now. client-go by itself reads the file once
// a minute, for as long as which a new token would be of no use.
type tokens struct {
	next http.RoundTripper
	file string // with a token; "" for none
	// renewed means that a program renews the credentials, so that what was refused may
	// be accepted.
	renewed bool
	// given means that credentials were there: the server answered, whatever it was.
	given atomic.Bool
}

// RoundTrip implements http.RoundTripper. A token that cannot be read is left to
// client-go, which has the last one.
func (t *tokens) RoundTrip(req *http.Request) (*http.Response, error) {
	if token := t.token(); token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := t.next.RoundTrip(req)
	if err == nil {
		t.given.Store(true)
	}
	return res, err
}

// changed reports whether the file holds another token than a request had.
func (t *tokens) changed(sent *http.Request) bool {
	token := t.token()
	return token != "" && sent.Header.Get("Authorization") != "Bearer "+token
}

// token is what the file holds; "" where it cannot be read, or is being written.
func (t *tokens) token() string {
	if t.file == "" {
		return ""
	}
	text, err := os.ReadFile(t.file)
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
