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

	"github.com/rke-lm/rke-lm/internal/files"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// helm runs the helm of the PATH on the releases of the cluster.
type helm struct{ *run }

// upgrade installs a chart, or brings its release to other values.
func (h helm) upgrade(ctx context.Context, t transition.Transition, a action.Action, op action.HelmUpgrade) error {
	values, err := fileOf(t, op.Values)
	if err != nil {
		return err
	}
	records, err := h.dropUnfinished(ctx, op.Namespace, op.Release)
	if err != nil {
		return err
	}
	if err := h.keepsValues(ctx, transition.Upgrade{Transition: t, Action: op}); err != nil {
		return err
	}
	return h.call(ctx, t, a, helmCall{h.cluster.own("HelmRelease", op.Namespace, op.Release), nextRecord(op.Release, records), op.Args(), map[string]string{op.Values: values}})
}

// uninstall takes a release out; one that is not there is out already. What a
// helm that was killed left is taken out with it.
func (h helm) uninstall(ctx context.Context, t transition.Transition, a action.Action, op action.HelmUninstall) error {
	records, err := h.cluster.records(ctx, op.Namespace, op.Release)
	if err == nil {
		err = h.onlyOwn(ctx, unfinished(records))
	}
	if err != nil || len(records) == 0 {
		return err
	}
	return h.call(ctx, t, a, helmCall{h.cluster.own("HelmRelease", op.Namespace, op.Release), records[len(records)-1].Name, op.Args(), nil})
}

// helmCall is one call of helm.
type helmCall struct {
	release   Ref
	record    string // the Secret in which helm records that it runs
	arguments []string
	files     map[string]string // that the arguments name
}

// call runs the command of an action.
func (h helm) call(ctx context.Context, t transition.Transition, a action.Action, c helmCall) error {
	program, err := exec.LookPath("helm")
	if err != nil {
		return manualRequired(t, a, withoutHelm(a))
	}
	return h.inFolder(program, c.files, func(p prepared) error {
		return h.attempt(ctx, c, func(ctx context.Context) error {
			return h.writer.write(ctx, write{act: actHelm, object: c.release, digest: sum([]byte(strings.Join(c.arguments, "\x00"))), do: func(ctx context.Context) error {
				_, err := p.run(ctx, c.arguments)
				return err
			}})
		})
	})
}

// withoutHelm is why a person has to run a command of helm.
func withoutHelm(a action.Action) string {
	why := "helm is not on the PATH; plan --cluster with --out writes the files that the command names"
	if u, upgrades := a.Op.(action.HelmUpgrade); upgrades {
		why += "; the values of the release were not compared, and the command replaces them, so check them first: " + action.Values(u.Release, u.Namespace, "").Command
	}
	return why
}

// prepared is helm in a private folder, which holds the files that its arguments name and the
// kubeconfig of the cluster.
type prepared struct{ program, folder, kubeconfig string }

// inFolder prepares helm. The folder is removed however the use of it ends.
func (h helm) inFolder(program string, named map[string]string, use func(prepared) error) error {
	files.Clean(os.TempDir())
	folder, lock, err := files.TemporaryFolder(os.TempDir())
	if err != nil {
		return fmt.Errorf("a folder for helm cannot be made: %w; make room in the folder for temporary files, and run the command again", err)
	}
	defer lock.Release()
	defer os.RemoveAll(folder)
	config, err := h.cluster.observer.Kubeconfig()
	if err != nil {
		return err
	}
	for name, text := range named {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err = errors.Join(err, os.WriteFile(kubeconfig, config, 0o600)); err != nil {
		return fmt.Errorf("files for helm cannot be written: %w; make room in the folder for temporary files, and run the command again", err)
	}
	return use(prepared{program, folder, kubeconfig})
}

// run runs it with the kubeconfig of the cluster in its environment, and without what
// is secret in ours. It returns what helm printed.
func (p prepared) run(ctx context.Context, arguments []string) (string, error) {
	c := exec.CommandContext(ctx, p.program, arguments...)
	c.Dir, c.SysProcAttr = p.folder, tied()
	passed := lists.Where(os.Environ(), func(v string) bool {
		return !strings.HasPrefix(v, rancher.TokenVariable+"=") && !strings.HasPrefix(v, "KUBECONFIG=") && !strings.HasPrefix(v, "HELM_KUBE")
	})
	c.Env = append(passed, "KUBECONFIG="+p.kubeconfig)
	var output, messages bytes.Buffer
	c.Stdout, c.Stderr = &output, &messages
	// It ends with the thread that starts it, and so the thread has to stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("helm %s: %w: %s", arguments[0], err, redact.Text(last(output.String()+messages.String())))
	}
	return output.String(), nil
}

// last returns the last lines of a text.
func last(text string) string {
	const most = 2000
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[max(0, len(text)-most):], "")
}
