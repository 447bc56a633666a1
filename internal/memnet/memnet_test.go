// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestAnAnswerThatTakesAnHourIsWaitedForInNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Hour)
			io.WriteString(w, "late")
		}))
		trusted := x509.NewCertPool()
		trusted.AddCert(s.Certificate())
		client := &http.Client{Transport: &http.Transport{DialContext: Dial, TLSClientConfig: &tls.Config{RootCAs: trusted}}}
		start := time.Now()
		res := assert.Value(client.Get(s.URL))(t)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		assert.Truef(t, err == nil && string(text) == "late" && time.Since(start) == time.Hour, "%q after %s, %v", text, time.Since(start), err)
	})
}

func TestAnAddressWhereNoOneListensRefuses(t *testing.T) {
	l := Listen()
	at := l.Addr().String()
	_, err := Dial(t.Context(), "tcp", at)
	assert.True(t, err == nil, err)
	l.Close()
	for _, at := range []string{at, "127.0.0.1:1"} {
		_, err := Dial(t.Context(), "tcp", at)
		assert.Truef(t, errors.Is(err, syscall.ECONNREFUSED), "%s: %v", at, err)
	}
	again := l.Again()
	defer again.Close()
	if _, err := Dial(t.Context(), "tcp", at); err != nil || again.Addr() != l.Addr() {
		t.Errorf("%v at %s", err, again.Addr())
	}
}

func TestAConnectionEndsInTheWayItIsEnded(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*Listener, net.Conn)
		want error
	}{
		"closed":  {func(_ *Listener, c net.Conn) { c.Close() }, io.EOF},
		"dropped": {func(l *Listener, _ net.Conn) { l.Drop() }, io.EOF},
		"reset":   {func(_ *Listener, c net.Conn) { Reset(c) }, syscall.ECONNRESET},
	} {
		t.Run(name, func(t *testing.T) {
			l := Listen()
			defer l.Close()
			client := assert.Value(Dial(t.Context(), "tcp", l.Addr().String()))(t)
			server := assert.Value(l.Accept())(t)
			go func() {
				io.WriteString(server, "the last word")
				c.end(l, server)
			}()
			text, err := io.ReadAll(client)
			if c.want == io.EOF {
				c.want = nil // as ReadAll says it
			}
			assert.Truef(t, string(text) == "the last word" && errors.Is(err, c.want), "%q, %v", text, err)
		})
	}
}
