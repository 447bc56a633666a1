// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"net/http"
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
func gatekeeper(t *testing.T, token *string) (url string, asked *int) {
	asked = new(int)
	s := memnet.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		if r.Header.Get("Authorization") != "Bearer "+*token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Write([]byte("{}"))
	}))
	return s.URL, asked
}

func TestATokenThatExpiresIsNotTriedAgainUnlessItsFileHasAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accepted := "first"
		url, asked := gatekeeper(t, &accepted)
		path := file(t, "token", "\ufefffirst\n")
		client := assert.Value(Connect(Connection{Rancher: url, TokenFile: path, Insecure: true, RetryFor: time.Hour, Dial: memnet.Dial}))(t)
		_, err := client.Do(t.Context(), get)
		assert.True(t, err == nil, err)
		accepted, *asked = "second", 0
		if _, err := client.Do(t.Context(), get); !errors.As(Refusal(err), new(*Denied)) || *asked != 1 {
			t.Errorf("asked %d times: %v", *asked, err)
		}
		assert.NilError(t, os.WriteFile(path, []byte("second"), 0o600))
		_, err = client.Do(t.Context(), get)
		assert.True(t, err == nil, err)
		for _, text := range []string{"", "two words"} { // it is being written
			assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
			if token := client.retry.tokens.token(); token != "" {
				t.Errorf("%q is a token", token)
			}
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

func times(t *testing.T, ran string) int {
	t.Helper()
	text, err := os.ReadFile(ran)
	assert.True(t, err == nil, err)
	return strings.Count(string(text), "ran")
}

func TestAProgramForCredentialsIsCalledAgainOnlyOnceItGaveSome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accepted := "from-a-program"
		s := memnet.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+accepted {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.Write([]byte("{}"))
		}))
		connect := func(script string) (*Client, string) {
			user, ran := program(t, script)
			c := assert.Value(Connect(Connection{Kubeconfig: leading(t, s, user), RetryFor: 2 * time.Second, Dial: memnet.Dial}))(t)
			return c, ran
		}
		c, ran := connect("exit 1")
		if _, err := c.Do(t.Context(), get); !NoCredentials(err) || !strings.HasSuffix(err.Error(), " failed with exit code 1; log in again, or check the program that the kubeconfig has for the user, and run the command again") || times(t, ran) != 1 {
			t.Errorf("%d times: %v", times(t, ran), err)
		}
		c, ran = connect(login(accepted))
		if _, err := c.Do(t.Context(), get); err != nil || times(t, ran) != 1 {
			t.Errorf("%d times: %v", times(t, ran), err)
		}
		c, ran = connect(login("expired"))
		if _, err := c.Do(t.Context(), get); !errors.As(Refusal(err), new(*Denied)) || times(t, ran) < 2 {
			t.Errorf("%d times: %v", times(t, ran), err)
		}
	})
}
