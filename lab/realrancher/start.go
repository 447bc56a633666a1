// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/deploy"
	"github.com/rke-lm/rke-lm/lab/process"
)

const system = "cattle-system"

// startRancher starts the server, and returns when it gives out tokens.
func (s *Server) startRancher(ctx context.Context) error {
	port, marks, err := cluster.ReservePair()
	if err != nil {
		return err
	}
	s.ports = append(s.ports, marks...)
	s.url = "https://127.0.0.1:" + strconv.Itoa(port)
	kubeconfig, err := s.Local.Kubeconfig(cluster.Admin)
	if err != nil {
		return err
	}
	if err := s.startExtension(ctx); err != nil {
		return err
	}
	password := "lab password of one run"
	s.rancher, err = s.run(ctx, build.RancherServer, []string{
		"CATTLE_DEV_MODE=1", // no jail for drivers, which no one runs
		"CATTLE_BOOTSTRAP_PASSWORD=" + password, "CATTLE_SERVER_URL=" + s.url, "CATTLE_SERVER_VERSION=" + build.RancherVersion, "CATTLE_NAMESPACE=" + system,
		"CATTLE_RKE_METADATA_CONFIG=" + `{"refresh-interval-minutes":"1440","url":"` + s.metadata.URL + `/data.json"}`,
		// The script that machines run to get their agent; theirs run nothing.
		"CATTLE_SYSTEM_AGENT_INSTALL_SCRIPT=" + s.metadata.URL + "/install.sh", "CATTLE_SYSTEM_AGENT_UPGRADE_IMAGE=none", "CATTLE_SYSTEM_UPGRADE_CONTROLLER_CHART_VERSION=0.0.0",
		"IMPERATIVE_API_DIRECT=true", "IMPERATIVE_API_APP_SELECTOR=rancher",
	}, "-kubeconfig="+kubeconfig, "-https-listen-port="+strconv.Itoa(port), "-features=turtles=false")
	if err != nil {
		return err
	}
	return await(ctx, "rancher", s.rancher, func(ctx context.Context) error {
		// What its controllers do at the start includes the removal of tokens.
		if len(s.rancher.Lines(1, func(line string) bool { return strings.Contains(line, "Rancher startup complete") })) == 0 {
			return errors.New("its controllers have not started")
		}
		return s.login(ctx, password)
	})
}

// login takes a token as the administrator does who has just installed Rancher.
func (s *Server) login(ctx context.Context, password string) error {
	ca, err := s.ask(ctx, http.MethodGet, "/v3/settings/cacerts", "", nil)
	if err != nil {
		return err
	}
	pem, _ := ca["value"].(string)
	s.ca = filepath.Join(s.dir, "cacerts.pem")
	if err := os.WriteFile(s.ca, []byte(pem), 0o600); err != nil {
		return err
	}
	_, s.token, err = s.logIn(ctx, "admin", password)
	return err
}

// ask asks Rancher's own API, with a token or without one.
func (s *Server) ask(ctx context.Context, method, path, token string, body any) (map[string]any, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := trusting.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	reply, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return nil, fmt.Errorf("%s %s: %w", method, path, &apierrors.StatusError{ErrStatus: metav1.Status{
			Code: int32(answer.StatusCode), Message: answer.Status + ": " + string(reply),
		}})
	}
	var o map[string]any
	return o, json.Unmarshal(reply, &o)
}

// await waits until one of Rancher's programs is ready.
func await(ctx context.Context, name string, p *process.Process, ready func(context.Context) error) error {
	return cluster.Await(ctx, 2*cluster.ReadyTimeout, name, p, ready)
}

// URL returns where Rancher is.
func (s *Server) URL() string { return s.url }

// CA returns the file with the certificate that signed Rancher's own.
func (s *Server) CA() string { return s.ca }

// Charts returns where the repository with the published chart is.
func (s *Server) Charts() string { return s.charts.URL }

// Helm returns the helm that installs charts, and the folders that it uses.
func (s *Server) Helm() *deploy.Helm { return s.helm }

// Token returns the token of the administrator.
func (s *Server) Token() string { return s.token }

// LogTail describes for people what the programs said last.
func (s *Server) LogTail() string {
	var b bytes.Buffer
	for name, p := range map[string]*process.Process{"rancher": s.rancher, "cluster-api": s.clusterAPI} {
		if p != nil {
			fmt.Fprintf(&b, "=== %s\n%s\n", name, p.LogTail())
		}
	}
	if s.webhook != nil {
		fmt.Fprintf(&b, "=== rancher-webhook\n%s\n", s.webhook.LogTail())
	}
	return b.String() + s.Local.LogTail()
}

// Through returns what a client needs to reach a cluster through Rancher with a token.
func (s *Server) Through(token, id string) *rest.Config {
	return &rest.Config{Host: s.url + "/k8s/clusters/" + id, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAFile: s.ca}, QPS: 100, Burst: 100}
}

// trusting trusts every certificate: Rancher makes its own when it starts, and listens on loopback.
var trusting = &http.Client{Timeout: cluster.ReadyTimeout, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
