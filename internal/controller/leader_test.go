// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/controller"
)

const leasePath = "/apis/coordination.k8s.io/v1/namespaces/rke-lm/leases/" + controller.LeaseName

// roundTripper is a function that sends a request.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// failing is the error of a process that leads and cannot work. It returns the lease after it, of which another write
// arrives right before the one that releases it, if late names its holder.
func (w *world) failing(late string) (lease string, err error) {
	config := assert.Value(w.server())(w.t).Local().Config(20)
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if late != "" && r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, leasePath) {
				text := assert.Value(io.ReadAll(assert.Value(r.GetBody())(w.t)))(w.t)
				if !strings.Contains(string(text), `"first"`) {
					w.Rancher.Edit(leasePath, func(o map[string]any) { o["spec"].(map[string]any)["holderIdentity"] = late })
					late = ""
				}
			}
			return next.RoundTrip(r)
		})
	})
	e := controller.Election{
		Client: kubernetes.NewForConfigOrDie(config), Namespace: namespace, Identity: "first", Duration: 15 * time.Second,
		Health: leaderelection.NewLeaderHealthzAdaptor(15 * time.Second),
	}
	ended := make(chan error, 1)
	go func() { ended <- e.Lead(w.t.Context(), func(context.Context) error { return errWatch }) }()
	select {
	case err = <-ended:
	case <-time.After(time.Hour):
		w.t.Fatal("it leads, and does nothing")
	}
	assert.True(w.t, late == "", "nothing was written before the lease was released")
	return w.Rancher.Object(leasePath), err
}

var errWatch = errors.New("the API server cannot be watched")

// A process that leads and cannot work would keep others from it. A write of its own that was cancelled, of a renewal, may
// still arrive while it releases the lease.
func TestAProcessThatCannotWorkEndsAndReleasesTheLease(t *testing.T) {
	for late, holder := range map[string]string{"": "", "first": "", "second": "second"} {
		on(t, `{"selector":{}}`, []string{"alder"}, func(t *testing.T, w *world) {
			lease, err := w.failing(late)
			assert.True(t, errors.Is(err, errWatch), err)
			assert.True(t, lease != "" && !strings.Contains(lease, `"first"`) && strings.Contains(lease, holder), late, lease)
		})
	}
}
