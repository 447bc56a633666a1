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
	"slices"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/internal/files"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// helm runs the helm of the PATH on the releases of the cluster.
type helm struct{ *run }

// upgrade installs a chart, or brings its release to other values.
func (h helm) upgrade(ctx context.Context, a action.Action, op action.HelmUpgrade) error {
	values, err := h.fileOf(op.Values)
	if err != nil {
		return err
	}
	records, err := h.dropUnfinished(ctx, op.Namespace, op.Release)
	if err != nil {
		return err
	}
	if err := h.keepsValues(ctx, op); err != nil {
		return err
	}
	return h.call(ctx, a, helmCall{h.own("HelmRelease", op.Namespace, op.Release), nextRecord(op.Release, records), op.Args(), map[string]string{op.Values: values}})
}

// uninstall takes a release out; one that is not there is out already. What a
// helm that was killed left is taken out with it.
func (h helm) uninstall(ctx context.Context, a action.Action, op action.HelmUninstall) error {
	records, err := h.records(ctx, op.Namespace, op.Release)
	if err == nil {
		err = h.onlyOwn(ctx, unfinished(records))
	}
	if err != nil || len(records) == 0 {
		return err
	}
	return h.call(ctx, a, helmCall{h.own("HelmRelease", op.Namespace, op.Release), records[len(records)-1].Name, op.Args(), nil})
}

// helmCall is one call of helm.
type helmCall struct {
	release   Ref
	record    string // the Secret in which helm records that it runs
	arguments []string
	files     map[string]string // that the arguments name
}

// call runs the command of an action.
func (h helm) call(ctx context.Context, a action.Action, c helmCall) error {
	program, err := exec.LookPath("helm")
	if err != nil {
		return h.manualRequired(a, withoutHelm(a))
	}
	return h.inFolder(program, c.files, func(p prepared) error {
		return h.attempt(ctx, c, func(ctx context.Context) error {
			return h.write(ctx, actHelm, c.release, sum([]byte(strings.Join(c.arguments, "\x00"))), func(ctx context.Context) error {
				_, err := p.run(ctx, c.arguments)
				return err
			})
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
	folder, remove, err := files.TemporaryFolder()
	if err != nil {
		return fmt.Errorf("a folder for helm cannot be made: %w; make room in the folder for temporary files, and run the command again", err)
	}
	defer remove()
	config, err := h.observer.Kubeconfig()
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

// A helm that is killed leaves a record that keeps every other one from beginning,
// and so does one that still runs; a record does not show which, nor whose it
// is, and its age shows nothing: a helm that waits may take as long as it likes. So a
// run writes into its lock, before it starts helm, which record that helm will make.
// The run that takes the lock over from one that died finds it there, and that record alone
// is deleted: its helm ended with its run. Every other one stops the run.

// helmAnnotation names, on the lock, the record of the helm that was started last
// and is not known to have ended.
const helmAnnotation = "rke-lm.io/helm"

// setHelm says on the lock which record a helm is about to make; "" for none.
func (l *lock) setHelm(ctx context.Context, record string) error {
	if err := l.locked(ctx, func() error { l.helm = record; return nil }); err != nil {
		return err
	}
	return l.confirm(ctx)
}

// attempt runs helm between two marks. The mark stays where helm was stopped in the
// middle.
func (h helm) attempt(ctx context.Context, c helmCall, run func(context.Context) error) error {
	if err := h.lock.setHelm(ctx, c.release.Namespace+"/"+c.record); err != nil {
		return err
	}
	failed := run(ctx)
	return errors.Join(failed, cleanUp(ctx, func(ctx context.Context) error {
		if failed != nil && h.leftRecord(ctx, c, failed) {
			return nil
		}
		return h.lock.setHelm(ctx, "")
	}))
}

// leftRecord reports whether a helm that failed left its record unfinished. Where that
// cannot be seen, it may have.
func (h helm) leftRecord(ctx context.Context, c helmCall, failed error) bool {
	faster := []string{"another operation", "already exists", "still in use"} // another helm was, and the record is its
	if slices.ContainsFunc(faster, func(refusal string) bool { return strings.Contains(failed.Error(), refusal) }) {
		return false
	}
	records, err := h.records(ctx, c.release.Namespace, c.release.Name)
	return err != nil || slices.ContainsFunc(unfinished(records), func(k record) bool { return k.Name == c.record })
}

// onlyOwn refuses unless all records are of the helm that this run, or one that
// died, has started. Where helm does not end with its run, it gets time to.
func (h helm) onlyOwn(ctx context.Context, records []record) error {
	for _, k := range records {
		if !h.started(k) {
			return busy(k)
		}
	}
	switch {
	case len(records) == 0 && h.lock.helm != "":
		return h.lock.setHelm(ctx, "") // it came to its end
	case len(records) == 0 || outlives == 0:
		return nil
	}
	since, k := time.Now(), records[0]
	return h.await(ctx, func(ctx context.Context) (condition, error) {
		now, err := h.records(ctx, k.Namespace, k.Release)
		over := len(unfinished(now)) == 0 || time.Since(since) >= outlives
		return condition{done: over, waiting: "the helm of a run that died may still be running on the release " + k.Release}, err
	})
}

func (h helm) started(k record) bool { return h.lock.helm == k.Namespace+"/"+k.Name }

// forget unmarks a helm that came to its end when its run had died. Another one that makes a record of that name is not the run's.
func (h helm) forget(ctx context.Context) error {
	namespace, name, marked := strings.Cut(h.lock.helm, "/")
	if !marked {
		return nil
	}
	release := strings.TrimPrefix(name[:max(0, strings.LastIndex(name, ".v"))], recordPrefix)
	records, err := h.records(ctx, namespace, release)
	if err != nil || slices.ContainsFunc(unfinished(records), h.started) {
		return nil // it may still run
	}
	return h.lock.setHelm(ctx, "")
}

// dropUnfinished deletes the record of a helm that died with its run, and returns
// the other ones.
func (h helm) dropUnfinished(ctx context.Context, namespace, release string) ([]record, error) {
	records, err := h.records(ctx, namespace, release)
	if err != nil {
		return nil, err
	}
	if err := h.onlyOwn(ctx, unfinished(records)); err != nil {
		return nil, err
	}
	// It may have come to its end meanwhile.
	if records, err = h.records(ctx, namespace, release); err != nil {
		return nil, err
	}
	for _, k := range unfinished(records) {
		if !h.started(k) {
			continue
		}
		if err := h.drop(ctx, h.own("Secret", namespace, k.Name)); err != nil {
			return nil, err
		}
		records = slices.DeleteFunc(records, func(other record) bool { return other == k })
	}
	return records, nil
}
