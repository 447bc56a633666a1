// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestProbesAndMetricsAreServed(t *testing.T) {
	var unhealthy error
	printed := ""
	s, err := serveHTTPS("127.0.0.1:0", probes(NewMetrics(&Manager{}).Handler(), func(*http.Request) error { return unhealthy }), func(text string) { printed += text })
	assert.NilError(t, err)
	_, address, _ := strings.Cut(printed, " on ")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // as the kubelet and Prometheus do
	get := func(path string) (int, string) {
		t.Helper()
		answer := assert.Value(client.Get("https://" + address + path))(t)
		defer answer.Body.Close()
		text := assert.Value(io.ReadAll(answer.Body))(t)
		return answer.StatusCode, string(text)
	}
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ok\n", "/metrics": "\nrke_lm_active 0\n"} {
		code, text := get(path)
		assert.Truef(t, code == http.StatusOK && strings.Contains(text, want), "%s: %d %s", path, code, text)
	}
	unhealthy = errors.New("the lease is not renewed")
	code, text := get("/healthz")
	assert.Truef(t, code == http.StatusInternalServerError && strings.Contains(text, "the lease is not renewed"), "%d %s", code, text)
	assert.Error(serveHTTPS(address, nil, nil))(t, "--metrics-bind-address "+address, "an address in use")
	s.Close()
	_, err = client.Get("https://" + address + "/healthz")
	assert.True(t, err != nil, "it still answers after it was stopped")
}
