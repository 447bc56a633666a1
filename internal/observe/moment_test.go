// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
)

// What the managers do and who holds the leases is read again when the rest of the
// observation took so long that both are old.
func TestWhatMovesIsOfOneMoment(t *testing.T) {
	t.Parallel()
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		s.Fault = changing(s, often(1, "/nodes", apitest.Fault{Hang: 11 * time.Second}))
		o := assert.Value(observer(t, s, time.Minute).Observe(t.Context()))(t)
		for _, l := range o.Leases {
			assert.Truef(t, l.Name != "kube-controller-manager" || l.Holder == "somebody-else", "held by %s", l.Holder)
		}
	})
}

// changing lets the holder of a lease change once the nodes were requested and the
// leases were read.
func changing(s *apitest.Server, fault func(*http.Request) apitest.Fault) func(*http.Request) apitest.Fault {
	observations := 0
	return func(r *http.Request) apitest.Fault {
		if strings.Contains(r.URL.Path, "/leases") {
			if observations++; observations == 2 {
				s.Hold("kube-controller-manager", "somebody-else")
			}
		}
		return fault(r)
	}
}

// Answers that all take long are never of one moment, and give no verdict.
func TestAnswersThatAreNeverOfOneMomentAreReported(t *testing.T) {
	t.Parallel()
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		s.Fault = always("/daemonsets", apitest.Fault{Hang: 11 * time.Second})
		o, err := observer(t, s, time.Minute).Observe(t.Context())
		assert.True(t, o == nil && err != nil && strings.Contains(err.Error(), "the responses take too long to describe one moment"), err)
	})
}
