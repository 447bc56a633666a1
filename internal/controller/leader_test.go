// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/controller"
)

// A process that leads and cannot work would keep others from it.
func TestAProcessThatCannotWorkEndsAndReleasesTheLease(t *testing.T) {
	on(t, `{"selector":{}}`, []string{"alder"}, func(t *testing.T, w *world) {
		server := assert.Value(w.server())(t)
		config := server.Local().Config(20)
		config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
		e := controller.Election{Config: config, Namespace: namespace, Identity: "first", Duration: 15 * time.Second}
		broken := errors.New("the API server cannot be watched")
		ended := make(chan error, 1)
		go func() { ended <- e.Lead(t.Context(), func(context.Context) error { return broken }) }()
		select {
		case err := <-ended:
			assert.True(t, errors.Is(err, broken), err)
		case <-time.After(time.Hour):
			t.Fatal("it leads, and does nothing")
		}
		lease := w.Rancher.Object("/apis/coordination.k8s.io/v1/namespaces/rke-lm/leases/" + controller.LeaseName)
		assert.True(t, lease != "" && !strings.Contains(lease, "first"), lease)
	})
}
