// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/internal/kube"
)

const component = "rke-lm"

// reasons are what Events call acts.
var reasons = map[string]string{
	actPatch: "LeaderMigrationStage", actSnapshot: "LeaderMigrationEtcdSnapshot", actKeep: "LeaderMigrationSnapshot",
	actCordon: "LeaderMigrationCordon", actRelease: "LeaderMigrationUncordon", actTaint: "LeaderMigrationTaint",
	actApply: "LeaderMigrationApply", actDelete: "LeaderMigrationDelete", actHelm: "LeaderMigrationHelm",
}

// event says the result of an act on the cluster's object. An Event has the name of
// its entry, so that there is one however often it is sent. It is for people: the
// run does not depend on it.
func (w *writer) event(ctx context.Context, e Entry) {
	if w.mute {
		return
	}
	at, when := e.Cluster, metav1.NewTime(e.Time)
	namespace := at.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault // of objects without one
	}
	kind := corev1.EventTypeNormal
	if e.Result != resultDone && e.Result != foundDone {
		kind = corev1.EventTypeWarning
	}
	body, err := json.Marshal(corev1.Event{
		TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: component + "." + e.ID},
		InvolvedObject: corev1.ObjectReference{APIVersion: w.cluster.object.Kind.APIVersion(), Kind: "Cluster", Namespace: at.Namespace, Name: at.Name, UID: types.UID(at.UID)},
		Reason:         reasons[e.Act], Message: message(e), Type: kind,
		Source: corev1.EventSource{Component: component, Host: e.Who.Host}, ReportingController: "rke-lm.io/" + e.Verb, ReportingInstance: e.Run,
		Action: e.Act, FirstTimestamp: when, LastTimestamp: when, Count: 1,
	})
	if err == nil {
		_, err = w.cluster.server.Local().Do(ctx, kube.Request{What: "create events", Method: http.MethodPost, Path: "/api/v1/namespaces/" + url.PathEscape(namespace) + "/events", Body: body})
	}
	if err != nil && !kube.HasStatus(err, http.StatusConflict) {
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
	const most = 1000 // an Event's message may have 1024 bytes
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
