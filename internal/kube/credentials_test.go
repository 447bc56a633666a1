// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/memnet"
)

// gatekeeper accepts one token.
func gatekeeper(t *testing.T, token *string) (s *httptest.Server, asked *int) {
	handler, asked := counted(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+*token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Write([]byte("{}"))
	})
	return memnet.Serve(t, handler), asked
}

func TestATokenThatExpiresIsNotTriedAgainUnlessItsFileHasAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accepted := "first"
		s, asked := gatekeeper(t, &accepted)
		path := file(t, "token", "\ufefffirst\n")
		client := assert.Value(Connect(Connection{Rancher: s.URL, TokenFile: path, Insecure: true, RetryFor: time.Hour, Dial: memnet.Dial}))(t)
		_, err := client.Do(t.Context(), get)
		assert.NilError(t, err)
		accepted, *asked = "second", 0
		_, err = client.Do(t.Context(), get)
		assert.Truef(t, errors.As(Refusal(err), new(*Denied)) && *asked == 1, "asked %d times: %v", *asked, err)
		assert.NilError(t, os.WriteFile(path, []byte("second"), 0o600))
		_, err = client.Do(t.Context(), get)
		assert.True(t, err == nil, err)
		for _, text := range []string{"", "two words"} { // it is being written
			assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
			assert.Equal(t, client.retry.tokens.token(), "", text)
		}
	})
}

// login is what a program for credentials prints.
func login(token string) string {
	return `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"` + token + `"}}'`
}

// program is a user whose credentials a script prints, and the file in which it notes
// that it ran.
func program(t *testing.T, script string) (user, ran string) {
	t.Helper()
	ran = filepath.Join(t.TempDir(), "ran")
	command := file(t, "login", "#!/bin/sh\necho ran >> "+ran+"\n"+script+"\n")
	return "{exec: {apiVersion: client.authentication.k8s.io/v1, command: " + command + ", interactiveMode: Never}}", ran
}

func TestAProgramForCredentialsIsCalledAgainOnlyOnceItGaveSome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accepted := "from-a-program"
		s, _ := gatekeeper(t, &accepted)
		called := func(script string) (times int, err error) {
			user, ran := program(t, script)
			c := assert.Value(Connect(Connection{Kubeconfig: leading(t, s, user), RetryFor: 2 * time.Second, Dial: memnet.Dial}))(t)
			_, err = c.Do(t.Context(), get)
			return strings.Count(string(assert.Value(os.ReadFile(ran))(t)), "ran"), err
		}
		n, err := called("exit 1")
		assert.True(t, n == 1 && NoCredentials(err) && strings.HasSuffix(err.Error(), " failed with exit code 1; log in again, or check the program that the kubeconfig has for the user, and run the command again"), n, err)
		n, err = called(login(accepted))
		assert.True(t, n == 1 && err == nil, n, err)
		n, err = called(login("expired"))
		assert.True(t, n >= 2 && errors.As(Refusal(err), new(*Denied)), n, err)
	})
}
