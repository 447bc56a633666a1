// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/transform"
)

const worldSecret = "/api/v1/namespaces/fleet-default/secrets/orchard-servers-1-machine-plan"

// tried lets a machine say that it failed to apply its plan so often, as its agent does
// under the limits that Rancher gave with the plan.
func (w *world) tried(times, most, printed string) {
	w.Rancher.Edit(worldSecret, func(o map[string]any) {
		data := o["data"].(map[string]any)
		plan, _ := base64.StdEncoding.DecodeString(data["plan"].(string))
		sum := sha256.Sum256(plan)
		delete(data, "appliedPlan")
		for key, text := range map[string]string{"failed-checksum": hex.EncodeToString(sum[:]), "failure-count": times, "max-failures": most, "failure-threshold": "1", "failed-output": zipped(printed)} {
			data[key] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	})
}

func zipped(printed string) string {
	text, err := json.Marshal(map[string][]byte{"install": []byte(printed)})
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(text)
	z.Close()
	return b.String()
}

const refusedPull = "pulling rke2-runtime, registry password: Sommer-im-Hafen-2021\nno space left on device\n"

// onFailing runs a test in a world in which a machine fails at the plan of the first stage that changes it.
func onFailing(t *testing.T, most string, test func(t *testing.T, w *world)) {
	onRKE2(t, func(t *testing.T, w *world) {
		follow, done := w.Follow, false
		w.Follow = func() {
			follow()
			if !done && strings.Contains(w.Rancher.Object(migratetest.RKE2Path), "enable-leader-migration") {
				done = true
				w.tried("1", most, refusedPull)
			}
		}
		test(t, w)
	})
}

// failedTry recognises the note of a failed try; it may name no secret.
func failedTry(t *testing.T, e migrate.Event) bool {
	t.Helper()
	assert.True(t, !strings.Contains(e.Message, "Sommer"), e.Message)
	return e.Type == migrate.Noted && strings.Contains(e.Message, "machine orchard-servers-1: 1 attempt of its plan failed") && strings.Contains(e.Message, "no space left on device")
}

// Rancher writes max-failures -1 and failure-threshold 1: the agent tries forever.
func TestATryThatFailedIsShownAndTheRunContinuesWhenTheNextOnePasses(t *testing.T) {
	onFailing(t, "-1", func(t *testing.T, w *world) {
		var shown bool
		waiting := map[int]string{}
		err := w.does(t, "one", migrate.Forward, hearing(func(e migrate.Event) {
			for _, m := range e.Machines {
				waiting[m.Failures] = m.Output
			}
			shown = failedTry(t, e) || shown
			if shown && len(waiting) > 1 {
				w.Follow() // the agent's next try
			}
		}))
		assert.Mustf(t, err == nil && shown && strings.Contains(waiting[1], "no space left on device"), "%v, shown %v, %v", err, shown, waiting)
		w.finished(t, undisturbed(t))
	})
}

func TestAMachineThatFailsForeverEndsTheRunAtItsTimeLimit(t *testing.T) {
	for _, c := range []struct{ name, most, want string }{
		{"the agent tries on", "-1", "not complete within 10m0s (--timeout): machine orchard-servers-1: 1 attempt of its plan failed, and its rancher-system-agent retries"},
		{"the agent gave up", "1", "machine orchard-servers-1 stopped applying its plan after 1 attempt, and does not retry until Rancher changes the plan"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onFailing(t, c.most, func(t *testing.T, w *world) {
				notes := 0
				err := w.does(t, "one", migrate.Forward, hearing(func(e migrate.Event) {
					if failedTry(t, e) {
						notes++
					}
				}))
				assert.Truef(t, errors.As(err, new(*migrate.End)) && strings.Contains(err.Error(), c.want) && transform.ExitCodeOf(err) == transform.ExitFailed && notes == 1, "%d notes, code %d: %v", notes, transform.ExitCodeOf(err), err)
				assert.True(t, !strings.Contains(w.Spec(t), "HelmChart"), "the next stage began")
			})
		})
	}
}
