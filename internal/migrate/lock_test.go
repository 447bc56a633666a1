// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/rancher"
)

// The first answer takes longer than the lease of someone alive lasts, who renews it a moment later.
func TestALivingHolderIsNotTakenForDeadAfterASlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		server := memnet.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				t.Error("the lock was taken")
			}
			version := "7"
			switch looks++; looks {
			case 1:
				time.Sleep(16 * time.Second)
			case 2:
			default:
				version = "8"
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"rke-lm-orchard","namespace":"fleet-default","resourceVersion":%q},`+
				`"spec":{"holderIdentity":"somebody","leaseDurationSeconds":15}}`, version)
		}))
		l := newLock(client(t, server.URL), rancher.Object{Namespace: "fleet-default", Name: "orchard"}, "me")
		var held *Held
		if err := l.acquire(t.Context(), func(string) {}); !errors.As(err, &held) || held.Holder != "somebody" {
			t.Error(err)
		}
	})
}

// A renewal that hangs does not keep an interrupt from ending the run.
func TestWhoWaitsForARenewalCanBeInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memnet.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.Method {
			case http.MethodPut:
				io.Copy(io.Discard, r.Body) // then it is noticed when the client goes
				<-r.Context().Done()
			case http.MethodGet:
				w.WriteHeader(http.StatusNotFound)
			default:
				io.Copy(w, r.Body)
			}
		}))
		l := newLock(client(t, server.URL), rancher.Object{Namespace: "fleet-default", Name: "orchard"}, "me")
		if err := l.acquire(t.Context(), func(string) {}); err != nil {
			t.Fatal(err)
		}
		ctx, interrupt := context.WithCancel(t.Context())
		l.renew(ctx, func(err error) { t.Error(err) })
		time.Sleep(lockTime/5 + time.Second) // it renews
		time.AfterFunc(time.Second, interrupt)
		start := time.Now()
		if err := l.confirm(ctx); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		l.stop()
		l.ended.Wait()
	})
}

func client(t *testing.T, url string) *kube.Client {
	t.Helper()
	c, err := kube.Connect(kube.Connection{Rancher: url, Token: "a-token-for-tests", Insecure: true, RetryFor: time.Minute, Dial: memnet.Dial})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
