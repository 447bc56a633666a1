// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// migrating starts migrate as a process of its own.
func migrating(t *testing.T, w *migratetest.World) *process {
	t.Helper()
	server := httptest.NewTLSServer(w) // of another process
	t.Cleanup(server.Close)
	return started(t, "migrate", "--cluster", "orchard", "--yes", "-o", "json",
		"--rancher-url", server.URL, "--token-file", w.Rancher.TokenFile(t), "--insecure-skip-tls-verify")
}

// started starts a command as a process of its own.
func started(t *testing.T, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	c := exec.Command(self)
	c.Args = append([]string{"rke-lm"}, args...)
	p := &process{Cmd: c}
	c.Stderr = &p.printed
	if p.out, err = c.StdoutPipe(); err == nil {
		err = startedAsOnATerminal(c)
	}
	assert.NilError(t, err)
	t.Cleanup(func() { c.Process.Kill() })
	return p
}

// startedAsOnATerminal starts a program that takes signals as on a terminal. It would inherit the signals that this
// process ignores, as below nohup and in the background of a shell.
func startedAsOnATerminal(c *exec.Cmd) error {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, os.Interrupt, syscall.SIGHUP)
	defer signal.Stop(heard)
	return c.Start()
}

type process struct {
	*exec.Cmd
	out     io.ReadCloser
	printed bytes.Buffer
}

// hear reads events up to what is written for a stage.
func (p *process) hear(t *testing.T, stage string) {
	t.Helper()
	events := bufio.NewScanner(p.out)
	events.Buffer(nil, 1<<20)
	for events.Scan() {
		if line := events.Text(); strings.Contains(line, `"type":"written"`) && strings.Contains(line, `"stage":"`+stage+`"`) {
			return
		}
	}
	t.Fatalf("nothing was written for %s: %s", stage, &p.printed)
}

func TestARunThatNoOneHearsReleasesItsNodes(t *testing.T) {
	for why, end := range map[string]func(*process) error{
		"standard output is closed": func(p *process) error { return p.out.Close() },
		"interrupted": func(p *process) error { // its terminal goes
			defer func() { go io.Copy(io.Discard, p.out) }()
			return p.Process.Signal(syscall.SIGHUP)
		},
	} {
		t.Run(why, func(t *testing.T) {
			w := migratetest.NewRKE2(t)
			p := migrating(t, w)
			p.hear(t, stages.CordonControlPlane)
			assert.NilError(t, end(p))
			p.Wait()
			printed, left := p.printed.String(), w.Cordoned()
			assert.Truef(t, p.ProcessState.ExitCode() == transform.ExitFailed && strings.Contains(printed, why) && strings.Contains(printed, "to continue: rke-lm migrate"), "%s: %s", p.ProcessState, printed)
			assert.Truef(t, len(left) == 0 && w.Rancher.Object(w.Lock) == "", "cordoned: %v, lock: %s", left, w.Rancher.Object(w.Lock))
		})
	}
}

func TestWhoInterruptsTwiceDoesNotWait(t *testing.T) {
	w := migratetest.NewRKE2(t)
	heard := make(chan bool, 10)
	w.Around = func(r *http.Request) { // no one answers the patches of the object
		if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, w.Path) {
			io.ReadAll(r.Body) // then it is noticed when the process ends
			heard <- true
			<-r.Context().Done()
		}
	}
	p := migrating(t, w)
	go io.Copy(io.Discard, p.out)
	<-heard
	ended := make(chan error)
	go func() { ended <- p.Wait() }()
	err := errors.New("it does not end")
	for over := false; !over; {
		p.Process.Signal(os.Interrupt)
		select {
		case err = <-ended:
			over = true
		case <-time.After(repeatedSignal / 10): // until one counts as the second
		}
	}
	var exit *exec.ExitError
	assert.Truef(t, errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled(), "%v %s", err, &p.printed)
}

// TestAnInterruptEndsALookAtABodyThatStreams: the server answers, and never to the end.
func TestAnInterruptEndsALookAtABodyThatStreams(t *testing.T) {
	streams := make(chan bool, 100)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			w.Write(bytes.Repeat([]byte(" "), 1<<10))
			http.NewResponseController(w).Flush()
			select {
			case streams <- true:
			default:
			}
		}
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	file := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("{kind: Config, clusters: [{name: a, cluster: {server: %q, insecure-skip-tls-verify: true}}], contexts: [{name: a, context: {cluster: a}}], current-context: a}", server.URL)
	putFile(t, file, text)
	p := started(t, "verify", "--kubeconfig", file)
	<-streams
	assert.NilError(t, p.Process.Signal(os.Interrupt))
	io.Copy(io.Discard, p.out)
	if p.Wait(); p.ProcessState.ExitCode() != transform.ExitFailed || p.printed.String() != "error: get the version: interrupted\n" {
		t.Errorf("%s: %s", p.ProcessState, &p.printed)
	}
}
