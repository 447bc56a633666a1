// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

// backUp is Rancher's controller of EtcdBackups (rancher pkg/controllers/management/etcdbackup): it queues
// one, gives it a file, and has RKE take the snapshot. A cluster without backupConfig is an error, and its
// EtcdBackups never get a condition.
func (e *engine) backUp(ctx context.Context, cluster *unstructured.Unstructured) error {
	config, set, err := unstructured.NestedMap(cluster.Object, "spec", engineKey, "services", "etcd", "backupConfig")
	if err != nil || !set {
		return err
	}
	list, err := e.dynamic.Resource(backups).Namespace(e.ID).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, b := range list.Items {
		if err := e.backUpOnce(ctx, b, config); err != nil {
			return err
		}
	}
	return nil
}

// backUpOnce takes an EtcdBackup one step further.
func (e *engine) backUpOnce(ctx context.Context, b unstructured.Unstructured, config map[string]any) error {
	taken := false
	err := e.change(ctx, backups, e.ID, b.GetName(), func(o map[string]any) {
		status := ranchertest.StatusOf(o)
		switch {
		case is(status, "Created", ""):
			ranchertest.SetCondition(status, "Created", "Unknown", "")
		case is(status, "Created", "Unknown"):
			o["spec"].(map[string]any)["filename"] = fmt.Sprintf("%s_%s.zip", b.GetName(), time.Now().UTC().Format(time.RFC3339))
			o["spec"].(map[string]any)["backupConfig"] = config
			ranchertest.SetCondition(status, "Created", "True", "")
			ranchertest.SetCondition(status, "Completed", "Unknown", "")
		case is(status, "Completed", "Unknown"):
			taken = true
			ranchertest.SetCondition(status, "Completed", "True", "")
		}
	})
	if err == nil && taken {
		e.snapshotTaken()
	}
	return err
}

// is reports whether a condition has a status; "" means one that is not there.
func is(status map[string]any, name, want string) bool {
	list, _ := status["conditions"].([]any)
	for _, item := range list {
		if c, _ := item.(map[string]any); c["type"] == name {
			return c["status"] == want
		}
	}
	return want == ""
}

// Restorable returns the configurations that the cluster's EtcdBackups restore. It fails as
// Rancher's button does where one holds none (rancher pkg/api/norman/customization/cluster,
// RestoreFromEtcdBackupHandler).
func (s *Server) Restorable(ctx context.Context, d *Downstream) (configs []any, err error) {
	list, err := s.dynamic.Resource(backups).Namespace(d.ID).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, b := range list.Items {
		var o struct {
			Status struct{ ClusterObject, KubernetesVersion string }
		}
		text, err := b.MarshalJSON()
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &o); err != nil {
			return nil, err
		}
		if o.Status.ClusterObject == "" || o.Status.KubernetesVersion == "" {
			return nil, fmt.Errorf("unable to restore RKE config, backup contains no cluster object: %s", b.GetName())
		}
		config, err := unpacked(o.Status.ClusterObject)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.GetName(), err)
		}
		configs = append(configs, config)
	}
	return configs, nil
}

// unpacked returns the configuration of RKE in a cluster that is gzipped JSON in base64.
func unpacked(packed string) (any, error) {
	zipped, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	var c struct {
		Spec map[string]any
	}
	err = json.Unmarshal(text, &c)
	return c.Spec[engineKey], err
}
