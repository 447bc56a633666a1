// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/temporary"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/route"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// helm runs the helm of the PATH on the releases of the cluster.
type helm struct {
	cluster *cluster
	writer  *writer
	waiter  waiter
}

// upgrade installs a chart, or brings its release to other values.
func (h helm) upgrade(ctx context.Context, t route.Transition, a transform.HelmUpgrade) error {
	values, err := fileOf(t, a.Values)
	if err != nil {
		return err
	}
	records, err := h.dropUnfinished(ctx, a.Namespace, a.Release)
	if err != nil {
		return err
	}
	c := helmCall{Ref{Server: h.cluster.object.ID, Kind: "HelmRelease", Namespace: a.Namespace, Name: a.Release}, nextRecord(a.Release, records), a.Args(), map[string]string{a.Values: values}}
	return h.run(ctx, t, a, c)
}

// uninstall takes a release out; one that is not there is out already. What a
// helm that was killed left is taken out with it.
func (h helm) uninstall(ctx context.Context, t route.Transition, a transform.HelmUninstall) error {
	records, err := h.cluster.records(ctx, a.Namespace, a.Release)
	if err == nil {
		err = h.onlyOwn(ctx, unfinished(records))
	}
	if err != nil || len(records) == 0 {
		return err
	}
	c := helmCall{Ref{Server: h.cluster.object.ID, Kind: "HelmRelease", Namespace: a.Namespace, Name: a.Release}, records[len(records)-1].Name, a.Args(), nil}
	return h.run(ctx, t, a, c)
}

// helmCall is one call of helm.
type helmCall struct {
	release   Ref
	record    string // the Secret in which helm records that it runs
	arguments []string
	files     map[string]string // that the arguments name
}

// run runs the command of an action in a private folder, which holds the files that
// it names and the kubeconfig of the cluster. The folder is removed however it ends.
func (h helm) run(ctx context.Context, t route.Transition, a transform.Action, c helmCall) error {
	program, err := exec.LookPath("helm")
	if err != nil {
		return &ByHand{t.Stage, a.Command(), "helm is not on the PATH; plan --cluster with --out writes the files that the command names"}
	}
	temporary.Clean(os.TempDir())
	folder, lock, err := temporary.Folder(os.TempDir())
	if err != nil {
		return fmt.Errorf("a folder for helm cannot be made: %w; make room in the folder for temporary files, and run the command again", err)
	}
	defer lock.Release()
	defer os.RemoveAll(folder)
	config, err := h.cluster.observer.Kubeconfig()
	if err != nil {
		return err
	}
	for name, text := range c.files {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err = errors.Join(err, os.WriteFile(kubeconfig, config, 0o600)); err != nil {
		return fmt.Errorf("files for helm cannot be written: %w; make room in the folder for temporary files, and run the command again", err)
	}
	return h.attempt(ctx, c, func(ctx context.Context) error {
		return h.writer.write(ctx, write{act: actHelm, object: c.release, digest: sum([]byte(strings.Join(c.arguments, "\x00"))), do: func(ctx context.Context) error {
			return runHelm(ctx, program, c.arguments, folder, kubeconfig)
		}})
	})
}

// runHelm runs it with the kubeconfig of the cluster in its environment, and without what
// is secret in ours.
func runHelm(ctx context.Context, program string, arguments []string, folder, kubeconfig string) error {
	c := exec.CommandContext(ctx, program, arguments...)
	c.Dir, c.SysProcAttr = folder, tied()
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, rancher.TokenVariable+"=") && !strings.HasPrefix(v, "KUBECONFIG=") && !strings.HasPrefix(v, "HELM_KUBE") {
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(c.Env, "KUBECONFIG="+kubeconfig)
	var output bytes.Buffer
	c.Stdout, c.Stderr = &output, &output
	// It ends with the thread that starts it, and so the thread has to stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.Run(); err != nil {
		return fmt.Errorf("helm %s: %w: %s", arguments[0], err, redact.Text(last(output.String())))
	}
	return nil
}

// last returns the last lines of a text.
func last(text string) string {
	const most = 2000
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[max(0, len(text)-most):], "")
}
