// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// slowly writes a byte, again and again after a pause.
func slowly(pause time.Duration, times int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for range times {
			select {
			case <-time.After(pause):
			case <-r.Context().Done():
				return
			}
			w.Write([]byte(" "))
			http.NewResponseController(w).Flush()
		}
	}
}

func TestASilentServerIsNotWaitedFor(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		took   time.Duration
		want   string // "" for an answer
	}{
		{"nothing comes", slowly(time.Hour, 1), silentTime, "get nodes: the API server stopped responding in the middle; check the network and the API server, and run the command again"},
		{"nothing follows the first bytes", func(w http.ResponseWriter, r *http.Request) {
			slowly(time.Second, 1)(w, r)
			slowly(time.Hour, 1)(w, r)
		}, time.Second + silentTime, "get nodes: the API server stopped responding in the middle;"},
		{"it is slow, and continues", slowly(silentTime-time.Second, 6), 6 * (silentTime - time.Second), ""},
		{"it is slow without an end", slowly(silentTime-time.Second, 1000), answerTime, "get nodes: context deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := answering(t, c.answer)
				client.retry.allowed = 0
				start := time.Now()
				_, err := client.Do(t.Context(), get)
				assert.Equal(t, time.Since(start), c.took)
				assert.Truef(t, (err == nil) == (c.want == "") && (err == nil || strings.HasPrefix(err.Error(), c.want)), "%v", err)
			})
		})
	}
}
