// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"
)

// asking trusts every certificate: a manager makes its own when it starts, and listens on loopback.
var asking = &http.Client{
	Timeout:   5 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
}

// healthy asks a program whether it is; nil says so.
func healthy(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := asking.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s responds %s", url, answer.Status)
	}
	return nil
}

// Answers asks a program of loopback whether it is healthy; nil says so.
func Answers(ctx context.Context, url string) error { return healthy(ctx, url) }

// Healthy reports whether the manager answers that it is. A manager that waits for its lease does.
func (m *Manager) Healthy(ctx context.Context) bool {
	return healthy(ctx, "https://127.0.0.1:"+m.port+"/healthz") == nil
}
