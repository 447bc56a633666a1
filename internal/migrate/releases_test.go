// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// mirrored are values of an operator, as helm prints them.
const mirrored = `{"image":{"repository":"mirror.example/ccm","tag":"v1.26.6"},"args":["--v=2","--cloud-provider=aws","--configure-cloud-routes=false","--cluster-name=s3cr3t"],"resources":{"limits":{"memory":"64Mi"}},"hostNetworking":true}` + "\n"

// The run would drop the mirror, the limit and the argument.
const mirroredKeys = "args --cluster-name, image.repository, resources.limits.memory"

func TestARunThatWouldReplaceValuesOfTheReleaseWritesNothing(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		w.PutRelease(t, mirrored)
		w.Forget()
		err := w.does(t, "one", migrate.Forward)
		assert.Mustf(t, transform.ExitCodeOf(err) == transform.ExitRefused && migrate.NeedsValues(err) && len(w.Writes()) == 0 && !w.HelmRan(), "exit code %d, %v, %v", transform.ExitCodeOf(err), w.Writes(), err)
		text := fmt.Sprint(err)
		assert.ContainsAll(t, text, []string{mirroredKeys, "--ccm-values values.yaml", "helm get values aws-cloud-controller-manager --namespace kube-system --output yaml > values.yaml"})
		for _, value := range []string{"mirror.example", "s3cr3t", "64Mi"} {
			assert.Truef(t, !strings.Contains(text, value), "%s\nshows the value %s", text, value)
		}
		assert.Equal(t, w.ReadValues(), "get values aws-cloud-controller-manager --namespace kube-system --output json --revision 1\n")
	})
}

func TestValuesOfTheReleaseAreReplacedWhereThatIsAccepted(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		w.PutRelease(t, mirrored)
		err := w.does(t, "one", migrate.Forward, accepting(rollout.ValuesReplaced), until(stages.InstallCCM))
		assert.Truef(t, err == nil && w.HelmRan(), "helm ran: %t, %v", w.HelmRan(), err)
	})
}

// The file has all values of the release but one, which is reported.
func TestValuesOfTheReleaseThatTheFileLacksAreReported(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		w.PutRelease(t, mirrored)
		values := assert.Value(yamledit.ParseString("values.yaml", strings.Replace(mirrored, `"resources":{"limits":{"memory":"64Mi"}},`, "", 1)))(t)
		var notes []string
		noting := hearing(func(e migrate.Event) {
			for _, f := range e.Findings {
				notes = append(notes, f.Message)
			}
		})
		assert.NilError(t, w.does(t, "one", migrate.Forward, noting, canonical, func(_ *world, o *migrate.Options) { o.Planner.Target.Values = values }))
		text := strings.Join(notes, "\n")
		assert.True(t, strings.Count(text, "has values that values.yaml does not have or changes") == 1 && strings.Contains(text, ": resources.limits.memory") && !strings.Contains(text, "image.repository"), text)
		text = string(assert.Value(os.ReadFile(w.Helm))(t))
		assert.True(t, strings.Contains(text, "mirror.example/ccm") && !strings.Contains(text, "64Mi"), text)
	})
}

// Another user sets a value while the run is in progress.
func TestAValueThatIsSetDuringTheRunStopsItBeforeHelm(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		err := w.does(t, "one", migrate.Forward, hearing(func(e migrate.Event) {
			if e.Type == migrate.Staged && e.Stage == stages.DisableLeaderMigration {
				w.PutRelease(t, w.Values(t)+"podAnnotations: {team: platform}\n")
			}
		}))
		assert.Mustf(t, transform.ExitCodeOf(err) == transform.ExitFound && !migrate.NeedsValues(err) && strings.Contains(fmt.Sprint(err), "podAnnotations.team") && !strings.Contains(fmt.Sprint(err), "platform"), "exit code %d, %v", transform.ExitCodeOf(err), err)
		values := w.Values(t)
		assert.True(t, strings.Contains(values, "team: platform") && strings.Contains(values, "enable-leader-migration"), values)
	})
}

// Only what helms have completed is the release: the newest record is that of one that was killed.
func TestTheValuesAreThoseOfTheNewestFinishedRecord(t *testing.T) {
	for _, c := range []struct {
		name    string
		records map[string]string
		want    string
	}{
		{"none", nil, "get values aws-cloud-controller-manager --namespace kube-system --output json\n"},
		{"an upgrade that was killed", map[string]string{"v2": "deployed", "v3": "pending-upgrade"}, "get values aws-cloud-controller-manager --namespace kube-system --output json --revision 2\n"},
		{"an upgrade that failed", map[string]string{"v9": "deployed", "v10": "failed"}, "get values aws-cloud-controller-manager --namespace kube-system --output json --revision 10\n"},
		{"an install that was killed", map[string]string{"v1": "pending-install"}, ""},
		{"a history of one that was uninstalled", map[string]string{"v1": "superseded", "v2": "uninstalled"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			onRKE1(t, func(t *testing.T, w *world) {
				for revision, status := range c.records {
					w.PutRecord(revision, status)
				}
				w.Follow()
				err := w.does(t, "one", migrate.Forward, func(_ *world, o *migrate.Options) {
					o.Confirm = func(_ context.Context, stage string) (bool, error) { return false, nil }
				})
				assert.True(t, err != nil && !migrate.NeedsValues(err), err)
				assert.Equal(t, w.ReadValues(), c.want)
			})
		})
	}
}

func TestUntilEndsAnUpgradeAtItsStage(t *testing.T) {
	on(t, late126, func(t *testing.T, w *world) {
		assert.NilError(t, w.late(t, "one"))
		assert.NilError(t, w.late(t, "two", targeting(transform.Target{Version: "v1.33.3+rke2r1"}), until(stages.UpgradeKubernetes)))
		s := w.Spec(t)
		assert.Truef(t, strings.Contains(s, "v1.32.7+rke2r1") && strings.Contains(s, "tag: v1.31.9"), "got %s", s)
	})
}

// The chart of RKE is no part of its file: helm brings it to each minor.
func TestMigrateTakesAClusterOfRKEFromMinorToMinor(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		w.migrate(t, "one")
		assert.NilError(t, w.does(t, "two", migrate.Forward, func(_ *world, o *migrate.Options) { o.Planner.Target.Version = "v1.28.15-rancher1-1" }))
		assert.Contains(t, w.Spec(t), `"kubernetesVersion":"v1.28.15-rancher1-1"`)
		assert.Equal(t, w.Released(), "v1.28.11", "helm installed the image")
	})
}
