// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/preconditions"
	"github.com/rke-lm/rke-lm/transform/live/route"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// helm upgrade replaces all values that a user has supplied to a release (helm.sh/helm/v3/pkg/action,
// Upgrade.reuseValues). So a run compares them with those that it gives helm: before it writes
// anything, and again before each upgrade, as another user may have changed them in between.

// keepsValues fails unless an upgrade keeps what the operator has set, or that was accepted.
func (h helm) keepsValues(ctx context.Context, u route.Upgrade) error {
	seen, err := h.replaced(ctx, []route.Upgrade{u})
	if err != nil {
		return err
	}
	findings := preconditions.EvaluateRelease(preconditions.Objects{Title: h.cluster.object.Title(), Release: seen}, h.Accept)
	if stop := transform.Stopping(findings); len(stop) > 0 {
		return &blocked{u.Transition.Stage, stop, preconditions.ReleaseRules()}
	}
	return nil
}

// replaced returns the release of upgrades, with what they drop or change of its values; nil where
// nothing is upgraded, or no helm is on the PATH that would.
func (h helm) replaced(ctx context.Context, upgrades []route.Upgrade) (*preconditions.Release, error) {
	program, err := exec.LookPath("helm")
	if len(upgrades) == 0 || err != nil {
		return nil, nil
	}
	a := upgrades[0].Action
	r := &preconditions.Release{Namespace: a.Namespace, Name: a.Release}
	if file := h.cluster.planner.Target.Values; file != nil {
		r.File = file.File()
	}
	values, err := h.values(ctx, program, a)
	if err != nil || values == nil {
		return r, err
	}
	for _, u := range upgrades {
		keys, err := h.cluster.planner.Replaced(u, values)
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
	records, err := h.cluster.records(ctx, a.Namespace, a.Release)
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
