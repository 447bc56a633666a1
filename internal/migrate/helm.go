// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/files"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// helm runs the helm of the PATH on the releases of the cluster.
type helm struct{ *run }

// upgrade installs a chart, or brings its release to other values. It fails unless that keeps what the operator has set, or
// that was accepted.
func (h helm) upgrade(ctx context.Context, a action.Action, op action.HelmUpgrade) error {
	values, err := h.fileOf(op.Values)
	if err != nil {
		return err
	}
	records, err := h.dropUnfinished(ctx, op.Namespace, op.Release)
	if err != nil {
		return err
	}
	seen, err := h.replaced(ctx, []transition.Upgrade{{Transition: h.transition, Action: op}})
	if err != nil {
		return err
	}
	findings := rollout.Preconditions(rollout.Change{Title: h.Object.Title(), Release: seen}, h.Planner.Target.Accept)
	if stop := transform.Stopping(findings); len(stop) > 0 {
		return blockedBy(h.transition.Step.Stage.Name, stop, rollout.Rules())
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

// record is a Secret in which helm keeps one revision of a release.
type record struct {
	Namespace, Release, Name string
	Revision                 int
	Status                   string
	Since                    time.Time // when it was made, by the cluster's clock
}

// recordPrefix begins the names of records, the release and the revision follow
// (helm.sh/helm/v3/pkg/storage).
const recordPrefix = "sh.helm.release.v1."

// records lists what helm keeps of a release, by revision.
func (r *run) records(ctx context.Context, namespace, release string) ([]record, error) {
	q := kube.Resource{Version: "v1", Name: "secrets", Namespace: namespace, Kind: "SecretList", Options: metav1.ListOptions{LabelSelector: "owner=helm,name=" + release}}
	list, err := kube.Collect(ctx, r.observer.Client, q, func(s *corev1.Secret, kept []record) []record {
		number, _ := strconv.Atoi(strings.TrimPrefix(s.Name, recordPrefix+release+".v"))
		return append(kept, record{s.Namespace, release, s.Name, number, s.Labels["status"], s.CreationTimestamp.UTC()})
	})
	slices.SortFunc(list, func(a, b record) int { return cmp.Compare(a.Revision, b.Revision) })
	return list, kube.Refusal(err)
}

// nextRecord is the name of the record that the next helm will make.
func nextRecord(release string, records []record) string {
	last := 0
	if len(records) > 0 {
		last = records[len(records)-1].Revision
	}
	return fmt.Sprintf("%s%s.v%d", recordPrefix, release, last+1)
}

// unfinished are the records of helms that run, or were killed: helm lets
// no other one begin while there is one.
func unfinished(records []record) []record {
	return lists.Where(records, func(k record) bool { return strings.HasPrefix(k.Status, "pending-") || k.Status == "uninstalling" })
}

// finished is the newest record of a release that a helm has completed, whatever came of it; false
// where there is none.
func finished(records []record) (record, bool) {
	for _, k := range slices.Backward(records) {
		if len(unfinished([]record{k})) == 0 {
			return k, true
		}
	}
	return record{}, false
}

// busy refuses a release that a helm which is not the run's changes, or was killed at.
func busy(k record) error {
	repair := map[string]string{
		"pending-install": action.Command("kubectl -n %s delete secret %--%s", k.Namespace, k.Name),
		"uninstalling":    action.Command("helm -n %s uninstall %--%s", k.Namespace, k.Release),
	}
	return transform.NewError(transform.ExitRefused, fmt.Sprintf("the release %s/%s is %s since %s UTC, by a helm that rke-lm did not start, and another user may be running it now; check it: %s; wait until it ends, or if it is not running, repair it: %s, and run the command again",
		k.Namespace, k.Release, k.Status, k.Since.Format("2006-01-02 15:04:05"),
		action.Command("helm -n %s history %--%s", k.Namespace, k.Release), cmp.Or(repair[k.Status], action.Command("helm -n %s rollback %--%s", k.Namespace, k.Release))))
}

// helm upgrade replaces all values that a user has supplied to a release (helm.sh/helm/v3/pkg/action,
// Upgrade.reuseValues). So a run compares them with those that it gives helm: before it writes
// anything, and again before each upgrade, as another user may have changed them in between.

// replaced returns the release of upgrades, with what they drop or change of its values; nil where
// nothing is upgraded, or no helm is on the PATH that would.
func (h helm) replaced(ctx context.Context, upgrades []transition.Upgrade) (*rollout.Release, error) {
	program, err := exec.LookPath("helm")
	if len(upgrades) == 0 || err != nil {
		return nil, nil
	}
	a := upgrades[0].Action
	r := &rollout.Release{Namespace: a.Namespace, Name: a.Release}
	if file := h.Planner.Target.Values; file != nil {
		r.File = file.File()
	}
	values, err := h.values(ctx, program, a)
	if err != nil || values == nil {
		return r, err
	}
	for _, u := range upgrades {
		keys, err := h.Planner.Replaced(u, values)
		if err != nil {
			return r, err
		}
		r.Replaced = append(r.Replaced, keys...)
	}
	slices.Sort(r.Replaced)
	r.Replaced = slices.Compact(r.Replaced)
	return r, nil
}

// values reads what users have supplied to a release, as helm has recorded it last; nil where there is
// none. A helm that runs, or was killed, has not supplied anything yet: the next one starts
// without its record, or does not start.
func (h helm) values(ctx context.Context, program string, a action.HelmUpgrade) (*yamledit.Document, error) {
	records, err := h.records(ctx, a.Namespace, a.Release)
	if err != nil {
		return nil, err
	}
	k, known := finished(records)
	if len(records) > 0 && (!known || k.Status == "uninstalled") {
		return nil, nil
	}
	arguments := []string{"get", "values", a.Release, "--namespace", a.Namespace, "--output", "json"}
	if known {
		arguments = append(arguments, "--revision", strconv.Itoa(k.Revision))
	}
	var text string
	if err := h.inFolder(program, nil, func(p prepared) (err error) {
		text, err = p.run(ctx, arguments)
		return err
	}); err != nil {
		if strings.Contains(err.Error(), "release: not found") {
			return nil, nil
		}
		return nil, fmt.Errorf("the values of the release %s/%s cannot be read, and the run would replace them: %w", a.Namespace, a.Release, err)
	}
	values, err := yamledit.ParseString("the values of the release", text)
	if err != nil {
		return nil, fmt.Errorf("the values of the release %s/%s cannot be read: the answer of helm is no YAML; check the version of the helm on the PATH", a.Namespace, a.Release)
	}
	return values, nil
}
