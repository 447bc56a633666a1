// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/rancher"
)

// The first answer takes longer than the lease of someone alive lasts, who renews it a moment later.
func TestALivingHolderIsNotTakenForDeadAfterASlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observations := 0
		server := memnet.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, r.Method, http.MethodGet, "the lock was taken")
			version := "7"
			switch observations++; observations {
			case 1:
				time.Sleep(16 * time.Second)
			case 2:
			default:
				version = "8"
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"rke-lm-orchard","namespace":"fleet-default","resourceVersion":%q},`+
				`"spec":{"holderIdentity":"another","leaseDurationSeconds":15}}`, version)
		}))
		l := lockAt(t, server.URL, "me")
		var held *Locked
		err := l.acquire(t.Context(), quiet)
		assert.True(t, errors.As(err, &held) && held.Holder == "another", err)
	})
}

// A renewal that hangs does not keep an interrupt from ending the run.
func TestWhoWaitsForARenewalCanBeInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &oneLease{}
		l := lockAt(t, memnet.Serve(t, s).URL, "me")
		assert.NilError(t, l.acquire(t.Context(), quiet))
		s.set(func() { s.late = true })
		ctx, interrupt := context.WithCancel(t.Context())
		l.renew(ctx, func(err error) { t.Error(err) })
		time.Sleep(lockTime/5 + time.Second) // it renews
		time.AfterFunc(time.Second, interrupt)
		start := time.Now()
		err := l.confirm(ctx)
		assert.Truef(t, errors.Is(err, context.Canceled) && time.Since(start) == time.Second, "%v after %s", err, time.Since(start))
		l.stop()
		l.ended.Wait()
	})
}

// oneLease is an API server with one Lease. Where late is set, it answers no write before its client
// has gone, and has done it by then, unless lost is set.
type oneLease struct {
	mu      sync.Mutex
	lease   map[string]any // nil where there is none
	version int
	late    bool
	lost    bool
}

func (s *oneLease) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // then it is noticed when the client goes
	s.mu.Lock()
	late := s.late && (r.Method == http.MethodPost || r.Method == http.MethodPut)
	code, answer := 0, any(nil)
	if !late || !s.lost {
		code, answer = s.answer(r.Method, body)
	}
	s.mu.Unlock()
	if late {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(answer)
}

func (s *oneLease) answer(method string, body []byte) (int, any) {
	var sent map[string]any
	json.Unmarshal(body, &sent)
	refused := func(code int) (int, any) {
		return code, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: int32(code)}
	}
	about, _ := sent["metadata"].(map[string]any)
	if method == http.MethodDelete {
		about, _ = sent["preconditions"].(map[string]any)
	}
	switch {
	case method == http.MethodPost && s.lease == nil:
	case s.lease == nil:
		return refused(http.StatusNotFound)
	case method == http.MethodGet:
		return http.StatusOK, s.lease
	case method == http.MethodPost, about["resourceVersion"] != strconv.Itoa(s.version):
		return refused(http.StatusConflict)
	case method == http.MethodDelete:
		s.lease = nil
		return http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Success"}
	}
	s.version++
	about["resourceVersion"], about["uid"] = strconv.Itoa(s.version), "u-lease"
	s.lease = sent
	return http.StatusOK, s.lease
}

// set changes the server.
func (s *oneLease) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// A run that ends in the middle of a renewal stops waiting for it, and the server has it written by then.
func TestALockIsReleasedWhenARenewalWasInProgress(t *testing.T) {
	for _, helm := range []string{"", "kube-system/sh.helm.release.v1.aws-cloud-controller-manager.v2"} {
		synctest.Test(t, func(t *testing.T) {
			s := &oneLease{}
			l := lockAt(t, memnet.Serve(t, s).URL, "me")
			assert.NilError(t, l.acquire(t.Context(), quiet))
			l.helm = helm
			l.renew(t.Context(), func(err error) { t.Error(err) })
			s.set(func() { s.late = true })
			time.Sleep(lockTime/5 + time.Second) // it renews
			s.set(func() { s.late = false })
			assert.NilError(t, l.release(t.Context()))
			spec, _ := s.lease["spec"].(map[string]any)
			assert.Truef(t, (s.lease == nil) == (helm == ""), "the lock was not released, or that of a helm that may still run is gone: %v", s.lease)
			assert.Truef(t, s.lease == nil || spec["holderIdentity"] == "", "the lock of a helm that may still run is held: %v", s.lease)
		})
	}
}

// The write that acquires the lock can be in the server when the run is interrupted.
func TestAnInterruptedRunLeavesNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &oneLease{late: true}
		l := lockAt(t, memnet.Serve(t, s).URL, "me")
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, interrupt)
		err := l.acquire(ctx, quiet)
		assert.True(t, errors.Is(err, context.Canceled), err)
		assert.Truef(t, s.lease == nil, "the lock was left: %v", s.lease)
	})
}

// The write that acquires the lock of a run that died can get lost, and the lock is the other run's then.
func TestAnInterruptedRunDoesNotDeleteTheLockOfARunThatDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &oneLease{}
		address := memnet.Serve(t, s).URL
		assert.NilError(t, lockAt(t, address, "another").acquire(t.Context(), quiet))
		s.set(func() { s.late, s.lost = true, true })
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(lockTime+10*time.Second, interrupt)
		err := lockAt(t, address, "me").acquire(ctx, quiet)
		assert.True(t, errors.Is(err, context.Canceled), err)
		assert.True(t, s.lease != nil, "the lock of the run that died was deleted")
	})
}

// A conflict is no reason to delete the lock of a run that has it by now.
func TestTheLockOfAnotherRunIsNotReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &oneLease{}
		address := memnet.Serve(t, s).URL
		l := lockAt(t, address, "me")
		assert.NilError(t, l.acquire(t.Context(), quiet))
		assert.NilError(t, lockAt(t, address, "another").acquire(t.Context(), quiet)) // the first one is not renewed
		assert.NilError(t, l.release(t.Context()))
		assert.Truef(t, s.lease["spec"].(map[string]any)["holderIdentity"] == "another", "%v", s.lease)
		var held *Locked
		err := l.confirm(t.Context())
		assert.True(t, errors.As(err, &held) && held.Holder == "another", err)
	})
}

// lockAt is the lock of a run over one cluster.
func lockAt(t *testing.T, url, holder string) *lock {
	t.Helper()
	c := assert.Value(kube.Connect(kube.Connection{Rancher: url, Token: "a-token-for-tests", Insecure: true, RetryFor: time.Minute, Dial: memnet.Dial}))(t)
	return newLock(c, rancher.Object{Namespace: "fleet-default", Name: "orchard"}, holder)
}

func quiet(string) {}
