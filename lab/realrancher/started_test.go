// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/realrancher"
)

var clusters = schema.GroupVersionResource{Group: "provisioning.cattle.io", Version: "v1", Resource: "clusters"}

// lab is a Rancher that all tests share: it takes half a minute to start, and one runs at a time.
type lab struct {
	*testing.T
	*realrancher.Server
	dir    string
	client *http.Client
}

// within runs a test as part of another one.
func (l *lab) within(name string, test func(*lab)) {
	l.Run(name, func(t *testing.T) {
		test(&lab{T: t, Server: l.Server, dir: l.dir, client: l.client})
	})
}

func started(t *testing.T, releases ...string) *lab {
	t.Helper()
	if os.Getenv("LAB_RANCHER") == "" {
		t.Skip("builds and starts Rancher itself, where LAB_RANCHER is set")
	}
	dir := t.TempDir()
	if logs := os.Getenv("LAB_LOGS"); logs != "" {
		dir = filepath.Join(logs, "rancher-itself")
	}
	began := time.Now()
	s := assert.Value(realrancher.Start(t.Context(), dir, releases...))(t)
	t.Logf("Rancher %s started in %.0f s, what had to be built with it", build.RancherVersion, time.Since(began).Seconds())
	t.Cleanup(s.Stop)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.LogTail())
		}
	})
	transport := assert.Value(rest.TransportFor(s.Through("", "local")))(t)
	return &lab{T: t, Server: s, dir: dir, client: &http.Client{Transport: transport, Timeout: time.Minute}}
}

// get asks Rancher with a token, or without one, and returns the code and the body of the answer.
func (l *lab) get(path, token string) (int, string) {
	l.Helper()
	request := assert.Value(http.NewRequestWithContext(l.Context(), http.MethodGet, l.URL()+path, nil))(l)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer := assert.Value(l.client.Do(request))(l)
	defer answer.Body.Close()
	body := assert.Value(io.ReadAll(answer.Body))(l)
	return answer.StatusCode, string(body)
}

// objects returns the clusters as the administrator sees them through Rancher.
func (l *lab) objects() dynamic.ResourceInterface {
	l.Helper()
	client := assert.Value(dynamic.NewForConfig(l.Through(l.Token(), "local")))(l)
	return client.Resource(clusters).Namespace("fleet-default")
}

// rke runs rke-lm on Rancher, and returns its exit code and what it printed.
func (l *lab) rke(args ...string) (code int, out, complaints string) {
	l.Helper()
	program := filepath.Join(l.dir, "rke-lm")
	if _, err := os.Stat(program); err != nil {
		assert.NilError(l, build.Tool(l.Context(), program))
	}
	ctx, cancel := context.WithTimeout(l.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(args, "--rancher-url", l.URL(), "--cacert", l.CA())...)
	var printed, fault bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{"HOME=" + l.dir, "RANCHER_TOKEN=" + l.Token(), "PATH=" + os.Getenv("PATH")}, &printed, &fault
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		l.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), printed.String(), fault.String()
}

// config returns a key of a cluster's machineGlobalConfig, as JSON.
func config(o map[string]any, key string) string {
	spec, _ := o["spec"].(map[string]any)
	engine, _ := spec["rkeConfig"].(map[string]any)
	global, _ := engine["machineGlobalConfig"].(map[string]any)
	text, _ := json.Marshal(global[key])
	return strings.TrimSpace(string(text))
}
