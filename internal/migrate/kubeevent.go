// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// reasons are what Events call acts.
var reasons = map[string]string{
	actPatch: "LeaderMigrationStage", actSnapshot: "LeaderMigrationEtcdSnapshot", actKeep: "LeaderMigrationSnapshot",
	actCordon: "LeaderMigrationCordon", actRelease: "LeaderMigrationUncordon", actTaint: "LeaderMigrationTaint",
	actApply: "LeaderMigrationApply", actDelete: "LeaderMigrationDelete", actHelm: "LeaderMigrationHelm",
}

// event says the result of an act on the cluster's object. An Event has the name of
// its entry. It is for people: the run does not depend on it.
func (w *writer) event(ctx context.Context, e Entry) {
	if w.mute {
		return
	}
	at, kind := e.Cluster, corev1.EventTypeNormal
	if e.Result != resultDone && e.Result != foundDone {
		kind = corev1.EventTypeWarning
	}
	err := w.cluster.server.Local().CreateEvent(ctx, e.ID, corev1.Event{
		InvolvedObject: corev1.ObjectReference{APIVersion: w.cluster.object.Kind.APIVersion(), Kind: "Cluster", Namespace: at.Namespace, Name: at.Name, UID: types.UID(at.UID)},
		Reason:         reasons[e.Act], Message: message(e), Type: kind,
		Source: corev1.EventSource{Host: e.Who.Host}, ReportingController: "rke-lm.io/" + e.Verb, ReportingInstance: e.Run,
		Action: e.Act, FirstTimestamp: metav1.NewTime(e.Time),
	})
	if err != nil {
		w.mute = true
		w.events.note("no further Events are written on the cluster's object: " + err.Error())
	}
}

// message says an entry in a sentence; it names no value.
func message(e Entry) string {
	text := e.Act + " " + e.Object.String()
	if e.Stage != "" {
		text = "stage " + e.Stage + ": " + text
	}
	if e.Digest != "" {
		text += ", sha256 " + e.Digest
	}
	text += ": " + e.Result + ", by " + e.Who.Name + " on " + e.Who.Host
	if e.Error != "" {
		text += " (" + e.Error + ")"
	}
	return text
}
