// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// pausedAnnotation pauses an object of Cluster API, whatever its value.
const pausedAnnotation = "cluster.x-k8s.io/paused"

const itsInfrastructure = "its Cluster of Cluster API"

// paused reports what Rancher's planner obeys before it gives machines new plans
// (rancher pkg/capr/planner, Process; cluster-api util/annotations, IsPaused).
func (s Change) paused(found report) {
	const notBrought, fix = ": Rancher would not apply a change to the machines", "ask who paused it to resume it, and run the command again"
	if headOf(s.Infrastructure).Spec.Paused {
		found("spec.paused", itsInfrastructure+" is paused"+notBrought, fix)
	} else if annotated(s.ControlPlane) {
		found("metadata.annotations", "its RKEControlPlane has the annotation "+pausedAnnotation+notBrought, fix)
	}
}

// pauseNotObeyed finds the annotation where the planner does not look.
func (s Change) pauseNotObeyed(found report) {
	for _, o := range []struct {
		what string
		raw  []byte
	}{{"its object", s.Object}, {itsInfrastructure, s.Infrastructure}} {
		if annotated(o.raw) {
			found("metadata.annotations", o.what+" has the annotation "+pausedAnnotation+", which Rancher ignores there: a change would reach the machines", "ask who paused it, and remove the annotation, or accept it with --accept "+pauseNotObeyed)
		}
	}
}

func annotated(raw []byte) bool {
	_, set := headOf(raw).Annotations[pausedAnnotation]
	return set
}

// noSnapshot finds what Rancher's controller of EtcdBackups wants (rancher
// pkg/controllers/management/etcdbackup, isBackupSet): without it an EtcdBackup gets
// no condition, ever.
func (s Change) noSnapshot(found report) {
	if !s.Snapshot {
		return
	}
	engine, err := ReadEngine(s.Object)
	backup, _, _ := unstructured.NestedFieldNoCopy(engine.Spec, "services", "etcd", "backupConfig")
	if err == nil && engine.Spec != nil && backup == nil {
		found("spec.rancherKubernetesEngineConfig.services.etcd", "it has no backupConfig, and Rancher takes no etcd snapshot without one", "set backupConfig, with enabled: false if you do not want recurring snapshots, and wait until the cluster is Active; or run without --etcd-snapshot, after a snapshot in another way")
	}
}
