// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// Rancher restores the configuration from status.clusterObject.
func TestABackupIsTheOneOfRanchersButton(t *testing.T) {
	const cluster = `{"metadata":{"name":"c-abcde","uid":"u"},"spec":{"displayName":"curlew","rancherKubernetesEngineConfig":{"kubernetesVersion":"v1.26.15-rancher1-1","services":{"etcd":{"backupConfig":{"enabled":false,"retention":6}}}}},"status":{"driver":"rancherKubernetesEngine"}}`
	raw := assert.Value(backup([]byte(cluster), "c-abcde", "u", "c-abcde-x"))(t)
	var o struct {
		Metadata struct {
			Namespace, Name string
			OwnerReferences []map[string]any
		}
		Spec   map[string]any
		Status struct {
			KubernetesVersion, ClusterObject string
		}
	}
	assert.NilError(t, json.Unmarshal(raw, &o))
	assert.DeepEqual(t, o.Spec, map[string]any{"clusterId": "c-abcde", "manual": true, "backupConfig": map[string]any{"enabled": false, "retention": 6.0}})
	diff := cmp.Diff([]map[string]any{{"apiVersion": "management.cattle.io/v3", "kind": "Cluster", "name": "c-abcde", "uid": "u", "controller": true}}, o.Metadata.OwnerReferences)
	assert.Truef(t, diff == "" && o.Metadata.Name == "c-abcde-x" && o.Metadata.Namespace == "c-abcde", "%+v %s", o.Metadata, diff)
	zipped := assert.Value(base64.StdEncoding.DecodeString(o.Status.ClusterObject))(t)
	z := assert.Value(gzip.NewReader(bytes.NewReader(zipped)))(t)
	text, err := io.ReadAll(z)
	assert.Truef(t, err == nil && string(text) == cluster && o.Status.KubernetesVersion == "v1.26.15-rancher1-1", "%v %s %s", err, text, o.Status.KubernetesVersion)
	_, err = backup([]byte(`{"spec":"password=hunter2"}`), "c", "u", "n")
	assert.True(t, err != nil && !strings.Contains(err.Error(), "hunter2"), err)
}

func TestAnEtcdBackupSaysHowFarItIs(t *testing.T) {
	for _, c := range []struct{ name, conditions, want, failed string }{
		{"not observed", ``, "Rancher has not observed the EtcdBackup yet", ""},
		{"queued", `{"type":"Created","status":"Unknown"}`, "has queued", ""},
		{"another one may be running", `{"type":"Created","status":"True"},{"type":"Completed","status":"Unknown"}`, "RKE takes", ""},
		{"taken", `{"type":"Created","status":"True"},{"type":"Completed","status":"True"}`, "", ""},
		{"failed", `{"type":"Created","status":"True"},{"type":"Completed","status":"False","reason":"Error","message":"s3: access denied, secret_key=wJalrXUtnFEMIK7MDENGbPxRfiCYzz19EXAMPLEK"}`, "", "failed: s3: access denied"},
	} {
		waiting, err := backupTaken([]byte(`{"status":{"conditions":[` + c.conditions + `]}}`))
		assert.Truef(t, (err != nil) == (c.failed != "") && (err == nil || strings.Contains(err.Error(), c.failed) && !strings.Contains(err.Error(), "wJalr")), "%s: %v", c.name, err)
		assert.Truef(t, strings.Contains(waiting, c.want) && (c.want != "" || waiting == ""), "%s: %q", c.name, waiting)
	}
}
