// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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

// keepsValues fails unless an upgrade keeps what the operator has set, or that was accepted.
func (h helm) keepsValues(ctx context.Context, op action.HelmUpgrade) error {
	seen, err := h.replaced(ctx, []transition.Upgrade{{Transition: h.transition, Action: op}})
	if err != nil {
		return err
	}
	findings := rollout.Preconditions(rollout.Change{Title: h.Object.Title(), Release: seen}, h.Planner.Target.Accept)
	if stop := transform.Stopping(findings); len(stop) > 0 {
		return blockedBy(h.transition.Step.Stage.Name, stop, rollout.Rules())
	}
	return nil
}

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
