// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"net/http"
	"os"
	"strings"

	"k8s.io/client-go/rest"
)

// credentials are those that change while the program runs.
type credentials struct {
	file    string // with a token; "" for none
	renewed bool   // somebody renews them, so that what was refused may be accepted
}

func credentialsOf(config *rest.Config) credentials {
	file := config.BearerTokenFile
	return credentials{file, file != "" || config.ExecProvider != nil || config.AuthProvider != nil}
}

// show puts the token that the file holds now into a request. client-go by itself
// reads it once a minute, for as long as which a new token would be of no use.
// What cannot be read is left to client-go, which has the last one.
func (c credentials) show(r *http.Request) {
	if c.file == "" {
		return
	}
	text, err := os.ReadFile(c.file)
	if token := strings.TrimSpace(string(text)); err == nil && token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
}
