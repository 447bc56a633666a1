// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/util/cert"
)

// probes answers the probes of the kubelet, and Prometheus. healthy fails when the process must be
// restarted.
func probes(metrics http.Handler, healthy func(*http.Request) error) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if err := healthy(r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// serveHTTPS listens on an address until it is stopped; "" is none. Its certificate is its own and new: it keeps
// the tokens of readers from others, and proves nothing.
func serveHTTPS(address string, h http.Handler, note func(string)) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics-bind-address %s: %w", address, err)
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("rke-lm", nil, nil)
	pair, failed := tls.X509KeyPair(certificate, key)
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}, ErrorLog: log.New(io.Discard, "", 0)}
	go func() {
		if err := s.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			note("/metrics: " + err.Error())
		}
	}()
	note("serving /metrics, /healthz and /readyz on " + listener.Addr().String())
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		s.Shutdown(ctx) // what is under way ends with the process
	}, nil
}
