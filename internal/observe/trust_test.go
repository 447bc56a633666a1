// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
)

// A token in a file is read for every request, and one that was refused may have
// been renewed meanwhile.
func TestATokenInAFileIsReadAgain(t *testing.T) {
	onTLS(t, 700, func(t *testing.T, s *apitest.Server) { // a token is sent over TLS alone
		file := filepath.Join(t.TempDir(), "token")
		write := func(token string) { assert.NilError(t, os.WriteFile(file, []byte(token), 0o600)) }
		write("the-first-one")
		asked := 0
		s.Fault = func(r *http.Request) apitest.Fault {
			if !strings.Contains(r.URL.String(), "continue=500") || r.Header.Get("Authorization") == "Bearer the-second-one" {
				return apitest.Fault{}
			}
			if asked++; asked == 2 {
				write("the-second-one\n")
			}
			return apitest.Fault{Status: 401}
		}
		c := assert.Value(kube.Connect(kube.Connection{Dial: memnet.Dial, Kubeconfig: s.KubeconfigOf(t, "{tokenFile: "+file+"}"), RetryFor: 5 * time.Minute}))(t)
		o, err := (&observe.Observer{Client: c}).Observe(t.Context())
		assert.Truef(t, err == nil && len(o.Nodes) == 700 && asked == 2, "%v after %d refusals", err, asked)
	})
}

// forbidden is what an API server says that has not read its rules yet.
func forbidden(times int) func(*http.Request) apitest.Fault {
	var left atomic.Int64
	left.Store(int64(times))
	return func(r *http.Request) apitest.Fault {
		if !strings.HasSuffix(r.URL.Path, "/services") || left.Add(-1) < 0 {
			return apitest.Fault{}
		}
		return apitest.Fault{Status: 403, Body: `{"kind":"Status","apiVersion":"v1","message":"services is forbidden: User \"u-42\" cannot list resource \"services\" in API group \"\" at the cluster scope"}`}
	}
}

func TestARightThatWasReviewedIsRequestedAgain(t *testing.T) {
	onTLS(t, 3, func(t *testing.T, s *apitest.Server) {
		ob := observer(t, s, 5*time.Minute)
		s.Fault = forbidden(1)
		_, err := ob.Observe(t.Context())
		assert.Truef(t, errors.As(err, new(*kube.Denied)), "without a review: %v", err)
		s.Do(func() { s.Fault = forbidden(2) })
		ob.Reviewed()
		_, err = ob.Observe(t.Context())
		assert.Truef(t, err == nil, "with one: %v", err)
	})
}

// The answer of a server with another name is never read, nor is it sent a token.
func TestAServerOfAnotherNameIsReportedAtOnce(t *testing.T) {
	onTLS(t, 3, func(t *testing.T, s *apitest.Server) {
		ob := observer(t, s, 30*time.Minute)
		_, err := ob.Observe(t.Context())
		assert.NilError(t, err)
		before := s.Count("")
		s.Rename(true)
		start := time.Now()
		_, err = ob.Observe(t.Context())
		assert.Truef(t, err != nil && strings.Contains(err.Error(), "check the address and the certificate authority") && time.Since(start) <= 0 && s.Count("") == before, "%v after %s and %d requests", err, time.Since(start), s.Count("")-before)
		s.Rename(false)
		_, err = ob.Observe(t.Context())
		assert.NilError(t, err)
	})
}
