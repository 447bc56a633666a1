// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/kubeapi"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/rancher"
)

// The first answer takes longer than the lease of somebody alive lasts, who renews it a moment later.
func TestALivingHolderIsNotTakenForDeadBehindASlowAnswer(t *testing.T) {
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
		c, err := kubeapi.Connect(kubeapi.Connection{Rancher: server.URL, Token: "a-token-for-tests", Insecure: true, Patience: time.Minute, Dial: memnet.Dial})
		if err != nil {
			t.Fatal(err)
		}
		l := newLock(c, rancher.Object{Namespace: "fleet-default", Name: "orchard"}, "me")
		var held *Held
		if err := l.take(t.Context(), func(string) {}); !errors.As(err, &held) || held.Holder != "somebody" {
			t.Error(err)
		}
	})
}
