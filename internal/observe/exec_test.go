// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
)

// program is a program for credentials, written as a script, and the file in which
// it notes that it ran.
func program(t *testing.T, script string) (user, ran string) {
	t.Helper()
	folder := t.TempDir()
	file, ran := filepath.Join(folder, "login"), filepath.Join(folder, "ran")
	assert.NilError(t, os.WriteFile(file, []byte("#!/bin/sh\necho ran >> "+ran+"\n"+script+"\n"), 0o700))
	return execUser(file), ran
}

func execUser(command string) string {
	return fmt.Sprintf("{exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, interactiveMode: Never}}", command)
}

// onTLS runs a test over an API server that takes credentials.
func onTLS(t *testing.T, nodes int, test func(t *testing.T, s *apitest.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := apitest.StartTLS(t)
		s.Fill(nodes)
		test(t, s)
	})
}

// times is how often a program ran.
func times(t *testing.T, ran string) int {
	t.Helper()
	return strings.Count(string(assert.Value(os.ReadFile(ran))(t)), "ran")
}

func asUser(t *testing.T, s *apitest.Server, user string) *observe.Observer {
	t.Helper()
	c := assert.Value(kube.Connect(kube.Connection{Dial: memnet.Dial, Kubeconfig: s.KubeconfigOf(t, user), RetryFor: time.Minute}))(t)
	return &observe.Observer{Client: c}
}

const login = `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"one-for-tests"}}'`

func TestAProgramGivesTheCredentials(t *testing.T) {
	onTLS(t, 3, func(t *testing.T, s *apitest.Server) {
		user, ran := program(t, login)
		_, err := asUser(t, s, user).Observe(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, times(t, ran), 1)
	})
}

// A program that fails is not asked again: it may open a window each time.
func TestAProgramWithoutCredentialsIsCalledOnce(t *testing.T) {
	onTLS(t, 3, func(t *testing.T, s *apitest.Server) {
		user, ran := program(t, "exit 1")
		_, err := asUser(t, s, user).Observe(t.Context())
		assert.Truef(t, err != nil && strings.Contains(err.Error(), "log in again, or check the program that the kubeconfig has for the user") && s.Count("") == 0, "%v after %d requests", err, s.Count(""))
		assert.Equal(t, times(t, ran), 1)
		_, err = asUser(t, s, execUser("no-such-program-of-anybody")).Observe(t.Context())
		assert.ErrorContains(t, err, "log in again, or check the program that the kubeconfig has for the user")
	})
}

// One that gave some before is asked again: what it asks may be away for a moment.
func TestAProgramThatFailsInBetweenIsCalledAgain(t *testing.T) {
	onTLS(t, 3, func(t *testing.T, s *apitest.Server) {
		expired := strings.Replace(login, `"token"`, `"expirationTimestamp":"1999-03-11T10:02:44Z","token"`, 1)
		user, ran := program(t, `[ "$(wc -l < "${0%login}ran")" -eq 2 ] && exit 1`+"\n"+expired)
		_, err := asUser(t, s, user).Observe(t.Context())
		assert.NilError(t, err)
		assert.True(t, times(t, ran) >= 3, times(t, ran))
	})
}
