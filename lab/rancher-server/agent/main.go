// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Command agent connects a cluster with Rancher as the cluster agent does: it opens the tunnel through which Rancher
// reaches the cluster's API server, and the one by which Rancher knows that the agent runs. That is all it
// does of what the agent does.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	"github.com/rancher/remotedialer"
	"github.com/rancher/steve/pkg/aggregation"
	"github.com/rancher/wrangler/v3/pkg/signals"
)

// cluster is what Rancher is to know of the API server.
type cluster struct {
	Address string `json:"address"`
	Token   string `json:"token"`
	CACert  string `json:"caCert"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run() error {
	flags := flag.NewFlagSet("agent", flag.ExitOnError)
	server := flags.String("server", "", "URL of Rancher")
	ca := flags.String("cacert", "", "file with the certificate that signed Rancher's")
	token := flags.String("token", "", "registration token of the cluster")
	address := flags.String("address", "", "host and port of the cluster's API server")
	certificate := flags.String("cluster-cacert", "", "file with the certificate that signed the API server's")
	access := flags.String("cluster-token", "", "token of an administrator of the cluster")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	pem, err := os.ReadFile(*certificate)
	if err != nil {
		return err
	}
	dialer, err := trusting(*ca)
	if err != nil {
		return err
	}
	params, err := json.Marshal(map[string]cluster{"cluster": {*address, *access, base64.StdEncoding.EncodeToString(pem)}})
	if err != nil {
		return err
	}
	headers := http.Header{"X-API-Tunnel-Token": {*token}, "X-API-Tunnel-Params": {base64.StdEncoding.EncodeToString(params)}}
	url := "wss" + strings.TrimPrefix(*server, "https") + "/v3/connect/register"
	certificates, err := os.ReadFile(*ca)
	if err != nil {
		return err
	}
	only := func(network, to string) bool { return network == "tcp" && to == *address }
	ctx := signals.SetupSignalContext()
	// The agent's own API: Rancher asks it whether the agent is there.
	go aggregation.ListenAndServe(ctx, *server+"/v3/connect", certificates, "stv-cluster-"+*token, http.HandlerFunc(ping))
	for ctx.Err() == nil {
		if err := remotedialer.ConnectToProxy(ctx, url, headers, only, dialer, nil); err != nil {
			fmt.Fprintln(os.Stderr, "agent:", err)
		}
		pause(ctx)
	}
	return nil
}

func trusting(file string) (*websocket.Dialer, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in " + file)
	}
	return &websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: pool}, HandshakeTimeout: 10 * time.Second}, nil
}

func ping(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/ping" {
		http.NotFound(w, r)
		return
	}
	fmt.Fprint(w, "pong")
}

// pause is the time before the next try.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
}
