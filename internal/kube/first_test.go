// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/memnet"
)

// contextOf is a kubeconfig with a current context that leads to an address.
func contextOf(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"harbour","clusters":[{"name":"c","cluster":{"server":"` + server + `"}}],` +
		`"users":[{"name":"u","user":{}}],"contexts":[{"name":"harbour","context":{"cluster":"c","user":"u"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAFirstConnectionThatIsRefusedIsNamedAtOnceAndGivenUpSoon(t *testing.T) {
	for name, c := range map[string]struct {
		first time.Duration
		longs bool // it is tried for as long as other requests
	}{
		"a command that does not wait": {5 * time.Second, false},
		"a command that waits":         {0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var said []string
				note := func(text string) {
					if said = append(said, text); time.Since(start) != 0 {
						t.Errorf("after %s", time.Since(start))
					}
				}
				client, err := Connect(Connection{Kubeconfig: contextOf(t, "http://127.0.0.1:1"), RetryFor: 30 * time.Second, FirstFor: c.first, Refused: note, Dial: memnet.Dial})
				if err != nil {
					t.Fatal(err)
				}
				_, err = client.Do(t.Context(), get)
				_, again := client.Do(t.Context(), get) // a command may make another request for the same
				took := time.Since(start)
				if !errors.Is(err, syscall.ECONNREFUSED) || !errors.Is(again, syscall.ECONNREFUSED) || c.longs != (took > 10*time.Second) || took > time.Minute {
					t.Errorf("%v, %v after %s", err, again, took)
				}
				if len(said) != 1 || !strings.Contains(said[0], "cannot connect to the API server http://127.0.0.1:1 of the context harbour: ") {
					t.Errorf("%q", said)
				}
			})
		})
	}
}

// A stage restarts the API server, so what was reached once is waited for.
func TestAServerThatHasAnsweredIsTriedForAsLongAsOtherRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen()
		answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") })
		s := &http.Server{Handler: answer}
		go s.Serve(l)
		client, err := Connect(Connection{Kubeconfig: contextOf(t, "http://"+l.Addr().String()), RetryFor: 30 * time.Second, FirstFor: 5 * time.Second, Refused: func(text string) { t.Error(text) }, Dial: memnet.Dial})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Do(t.Context(), get); err != nil {
			t.Fatal(err)
		}
		s.Close()
		time.AfterFunc(12*time.Second, func() {
			s = &http.Server{Handler: answer}
			go s.Serve(l.Again())
		})
		if _, err := client.Do(t.Context(), get); err != nil {
			t.Error(err)
		}
		s.Close()
	})
}
