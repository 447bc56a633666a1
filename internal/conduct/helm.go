// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/kubeapi"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/course"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// helmUpgrade installs a chart, or brings its release to other values.
func (r *Run) helmUpgrade(ctx context.Context, l course.Leg, a transform.HelmUpgrade) error {
	values, err := fileOf(l, a.Values)
	if err != nil {
		return err
	}
	if err := r.dropPending(ctx, a.Namespace, a.Release); err != nil {
		return err
	}
	return r.helm(ctx, l, a, a.Namespace, a.Release, a.Args(), map[string]string{a.Values: values})
}

// helmUninstall takes a release out; one that is not there is out already.
func (r *Run) helmUninstall(ctx context.Context, l course.Leg, a transform.HelmUninstall) error {
	names, err := r.releases(ctx, a.Namespace, a.Release, "")
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return nil
	}
	return r.helm(ctx, l, a, a.Namespace, a.Release, a.Args(), nil)
}

// helm runs the command of an action in a private folder, which holds the files that
// it names and the way to the cluster. The folder goes on every way out.
func (r *Run) helm(ctx context.Context, l course.Leg, a transform.Action, namespace, release string, arguments []string, files map[string]string) error {
	program, err := exec.LookPath("helm")
	if err != nil {
		return &ByHand{l.Stage, a.Command(), "helm is not on the PATH; plan --cluster with --out writes the files that the command names"}
	}
	folder, err := os.MkdirTemp("", "rke-lm-") // with mode 0700
	if err != nil {
		return fmt.Errorf("a folder for helm cannot be made: %w; make room in the folder for temporary files, and run the command again", err)
	}
	defer os.RemoveAll(folder)
	config, err := r.observer.Kubeconfig()
	if err != nil {
		return err
	}
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	way := filepath.Join(folder, "kubeconfig")
	if err = errors.Join(err, os.WriteFile(way, config, 0o600)); err != nil {
		return fmt.Errorf("files for helm cannot be written: %w; make room in the folder for temporary files, and run the command again", err)
	}
	object := Ref{Server: r.Object.ID, Kind: "HelmRelease", Namespace: namespace, Name: release}
	return r.write(ctx, write{act: actHelm, object: object, digest: sum([]byte(strings.Join(arguments, "\x00"))), do: func(ctx context.Context) error {
		return runHelm(ctx, program, arguments, folder, way)
	}})
}

// runHelm runs it with the way to the cluster in its environment, and without what
// is secret in ours.
func runHelm(ctx context.Context, program string, arguments []string, folder, way string) error {
	c := exec.CommandContext(ctx, program, arguments...)
	c.Dir, c.SysProcAttr = folder, tied()
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, rancher.TokenVariable+"=") && !strings.HasPrefix(v, "KUBECONFIG=") && !strings.HasPrefix(v, "HELM_KUBE") {
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(c.Env, "KUBECONFIG="+way)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	// It ends with the thread that starts it, and so the thread has to stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.Run(); err != nil {
		return fmt.Errorf("helm %s: %w: %s", arguments[0], err, redact.Text(last(said.String())))
	}
	return nil
}

// last returns the last lines of a text.
func last(text string) string {
	const most = 2000
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[max(0, len(text)-most):], "")
}

// releases lists the records that helm keeps of a release, in some state.
func (r *Run) releases(ctx context.Context, namespace, release, states string) ([]string, error) {
	selector := "owner=helm,name=" + release
	if states != "" {
		selector += ",status in (" + states + ")"
	}
	q := kubeapi.Resource{What: "list secrets in " + namespace, Path: "/api/v1/namespaces/" + url.PathEscape(namespace) + "/secrets", Kind: "SecretList", Query: url.Values{"labelSelector": {selector}}}
	names, err := kubeapi.Collect(ctx, r.observer.Client, q, func(l *corev1.SecretList, kept []string) []string {
		for i := range l.Items {
			kept = append(kept, l.Items[i].Name)
		}
		return kept
	})
	return names, kubeapi.Refusal(err)
}

// dropPending deletes the record of a helm that was killed, which keeps every other
// one from beginning. Ours ends with us, and the lock keeps other runs away.
func (r *Run) dropPending(ctx context.Context, namespace, release string) error {
	names, err := r.releases(ctx, namespace, release, "pending-install,pending-upgrade,pending-rollback")
	if err != nil {
		return err
	}
	for _, name := range names {
		o := Ref{Server: r.Object.ID, Kind: "Secret", Namespace: namespace, Name: name}
		err := r.write(ctx, write{act: actDelete, object: o, do: func(ctx context.Context) error {
			return r.remove(ctx, o)
		}})
		if err != nil {
			return err
		}
	}
	return nil
}
