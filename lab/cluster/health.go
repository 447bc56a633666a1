// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"
)

// asking trusts every certificate: a manager makes its own when it starts, and listens on loopback.
var asking = &http.Client{
	Timeout:   2 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
}

// Healthy reports whether the manager answers that it is. A manager that waits for its lease does.
func (m *Manager) Healthy(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://127.0.0.1:"+m.port+"/healthz", nil)
	if err != nil {
		return false
	}
	answer, err := asking.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// LogFile returns the path of the manager's output.
func (m *Manager) LogFile() string { return m.log }
