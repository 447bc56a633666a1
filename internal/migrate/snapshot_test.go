// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// backUp is what Rancher does with EtcdBackups: the first of its conditions comes at
// once, and the last one when RKE is through.
func (w *world) backUp(completed, message string) {
	for at := range w.Rancher.Objects() {
		if !strings.Contains(at, "/etcdbackups/") {
			continue
		}
		w.Rancher.Edit(at, func(o map[string]any) {
			o["status"].(map[string]any)["conditions"] = []any{
				map[string]any{"type": "Created", "status": "True"}, map[string]any{"type": "Completed", "status": completed, "message": message},
			}
		})
	}
}

// backedUp is a world of RKE with snapshots of etcd.
func backedUp(t *testing.T) *world {
	t.Helper()
	w := rke1World(t)
	w.Rancher.Edit(migratetest.RKE1Path, func(o map[string]any) {
		config := o["spec"].(map[string]any)["rancherKubernetesEngineConfig"].(map[string]any)
		config["services"].(map[string]any)["etcd"] = map[string]any{"backupConfig": map[string]any{"enabled": false, "s3BackupConfig": map[string]any{"bucketName": "curlew", "secretKey": worldKey}}}
	})
	w.Follow()
	return w
}

const worldKey = "wJalrXUtnFEMIK7MDENGbPxRfiCYzz19EXAMPLEK"

// restored returns the configuration that a restore takes from an EtcdBackup.
func restored(t *testing.T, backup string) any {
	t.Helper()
	var o struct {
		Status struct{ ClusterObject, KubernetesVersion string }
	}
	assert.NilError(t, json.Unmarshal([]byte(backup), &o))
	assert.Equal(t, o.Status.KubernetesVersion, "v1.26.15-rancher1-1")
	zipped := assert.Value(base64.StdEncoding.DecodeString(o.Status.ClusterObject))(t)
	z := assert.Value(gzip.NewReader(bytes.NewReader(zipped)))(t)
	var cluster struct {
		Spec map[string]any
	}
	assert.NilError(t, json.Unmarshal(assert.Value(io.ReadAll(z))(t), &cluster))
	return cluster.Spec["rancherKubernetesEngineConfig"]
}

func TestASnapshotOfRKECanBeRestoredWithTheConfigurationFromBefore(t *testing.T) {
	on(t, backedUp, func(t *testing.T, w *world) {
		var before struct {
			Config any `json:"rancherKubernetesEngineConfig"`
		}
		assert.NilError(t, json.Unmarshal([]byte(w.Spec(t)), &before))
		var shown bytes.Buffer
		log := filepath.Join(t.TempDir(), "audit.jsonl")
		assert.NilError(t, w.does(t, "one", migrate.Forward, snapshotting, auditing(log), hearing(func(e migrate.Event) {
			fmt.Fprintln(&shown, yamledit.JSON(report.NewRunEvent(e)))
			if e.Type == migrate.Awaited && strings.Contains(e.Message, "EtcdBackup") {
				w.backUp("True", "")
			}
		})))
		var same int
		for at, text := range w.Rancher.Objects() {
			if strings.Contains(at, "/etcdbackups/") && cmp.Equal(before.Config, restored(t, text)) {
				same++
			}
		}
		assert.Equal(t, same, 1, "snapshots with the configuration from before the first write")
		printed := shown.String() + string(assert.Value(os.ReadFile(log))(t))
		assert.True(t, !strings.Contains(printed, worldKey) && !strings.Contains(printed, "H4sI"), printed)
	})
}

// An agent tries a snapshot three times, and Rancher then gives it up.
func TestASnapshotOfRKE2ThatFailsIsShown(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		follow := w.Follow
		phase := func(is string) {
			w.Rancher.Edit("/apis/rke.cattle.io/v1/namespaces/fleet-default/rkecontrolplanes/orchard", func(o map[string]any) {
				o["status"].(map[string]any)["etcdSnapshotCreatePhase"] = is
			})
		}
		w.Follow = func() {
			follow()
			phase("Started")
			w.tried("3", "3", refusedPull)
		}
		shown := false
		err := w.does(t, "one", migrate.Forward, snapshotting, hearing(func(e migrate.Event) {
			if e.Type == migrate.Noted && strings.Contains(e.Message, "machine orchard-servers-1: 3 attempts of its plan failed") && strings.Contains(e.Message, "no space left on device") {
				shown = true
				phase("Failed")
			}
		}))
		assert.Truef(t, transform.ExitCodeOf(err) == transform.ExitFailed && shown && strings.Contains(fmt.Sprint(err), "the snapshot of etcd failed") && !strings.Contains(fmt.Sprint(err), "Sommer"), "shown %v: %v", shown, err)
	})
}

func TestASnapshotOfRKEThatFailsSaysWhyWithoutSecrets(t *testing.T) {
	on(t, backedUp, func(t *testing.T, w *world) {
		before := w.Spec(t)
		refuse := hearing(func(migrate.Event) { w.backUp("False", "cannot reach s3, secret_key="+worldKey) })
		err := w.does(t, "one", migrate.Forward, snapshotting, refuse)
		printed := fmt.Sprint(err)
		assert.True(t, transform.ExitCodeOf(err) == transform.ExitFailed && strings.Contains(printed, "the snapshot of etcd failed: cannot reach s3") && !strings.Contains(printed, worldKey), printed)
		assert.Equal(t, w.Spec(t), before, "the cluster was changed without its snapshot")
	})
}

func TestAnEtcdBackupThatAQuotaRefusesIsNotTakenForOneThatExists(t *testing.T) {
	on(t, backedUp, func(t *testing.T, w *world) {
		quota := ranchertest.Fault{Status: http.StatusConflict, Body: `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Conflict","message":"Operation cannot be fulfilled on resourcequotas \"small\": the object has been modified","code":409}`}
		w.Rancher.Fail(quota, func(r *http.Request) bool {
			return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/etcdbackups")
		})
		err := w.does(t, "one", migrate.Forward, snapshotting)
		assert.True(t, transform.ExitCodeOf(err) == transform.ExitFailed && strings.Contains(fmt.Sprint(err), "on resourcequotas"), err)
	})
}
