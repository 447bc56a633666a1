// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"

	"github.com/rke-lm/rke-lm/transform/redact"
)

// backup returns the EtcdBackup that asks for a snapshot of etcd of an RKE cluster,
// as Rancher's own button makes it (rancher pkg/controllers/management/etcdbackup,
// NewBackupObject). raw is the cluster's object as the server has it: a restore with
// the configuration takes it from status.clusterObject. EtcdBackups have no
// subresource status, so that the status comes with the object. It may hold secrets,
// as the cluster's object does.
func backup(raw []byte, id, uid, name string) ([]byte, error) {
	var o struct {
		Spec struct {
			Engine struct {
				Version  string `json:"kubernetesVersion"`
				Services struct {
					Etcd struct {
						Backup json.RawMessage `json:"backupConfig"`
					} `json:"etcd"`
				} `json:"services"`
			} `json:"rancherKubernetesEngineConfig"`
		} `json:"spec"`
	}
	if json.Unmarshal(raw, &o) != nil {
		return nil, errors.New("the cluster's object has fields of unexpected types; check it with kubectl")
	}
	return json.Marshal(map[string]any{
		"apiVersion": "management.cattle.io/v3", "kind": "EtcdBackup",
		"metadata": map[string]any{
			"name": name, "namespace": id,
			"ownerReferences": []any{map[string]any{"apiVersion": "management.cattle.io/v3", "kind": "Cluster", "name": id, "uid": uid, "controller": true}},
		},
		"spec":   map[string]any{"clusterId": id, "manual": true, "backupConfig": o.Spec.Engine.Services.Etcd.Backup},
		"status": map[string]any{"conditions": nil, "kubernetesVersion": o.Spec.Engine.Version, "clusterObject": compressed(raw)},
	})
}

// compressed is JSON as an EtcdBackup keeps it: gzip in base64.
func compressed(raw []byte) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(raw) // into memory, which does not fail
	z.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// The conditions of an EtcdBackup: it is queued, and it is made.
const (
	created   = "Created"
	completed = "Completed"
)

// backupTaken reads an EtcdBackup: "" once the snapshot is there, else what it waits
// for. It fails when Rancher gave it up.
func backupTaken(raw []byte) (waiting string, err error) {
	var o struct {
		Status struct {
			Conditions []genericcondition.GenericCondition `json:"conditions"`
		} `json:"status"`
	}
	if json.Unmarshal(raw, &o) != nil {
		return "", errors.New("the EtcdBackup cannot be read; check it with kubectl")
	}
	waiting = "Rancher has not observed the EtcdBackup yet"
	for _, c := range o.Status.Conditions {
		switch {
		case c.Type == completed && c.Status == "True":
			return "", nil
		case c.Type == completed && c.Status == "False":
			return "", fmt.Errorf("the snapshot of etcd failed%s; without --etcd-snapshot none is taken", quoted(c.Message))
		case c.Type == created && c.Status == "Unknown":
			waiting = "Rancher has queued the snapshot of etcd; another one may be running"
		case c.Type == created && c.Status == "True":
			waiting = "RKE takes the snapshot of etcd"
		}
	}
	return waiting, nil
}

// quoted adds what a condition says, which may quote anything.
func quoted(message string) string {
	if message == "" {
		return ""
	}
	return ": " + redact.Text(message)
}
