// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/memnet"
)

func TestAnEventHasAMessageThatTheServerAccepts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent corev1.Event
		at, code, reason := "", http.StatusCreated, "AlreadyExists"
		s := memnet.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.NilError(t, json.NewDecoder(r.Body).Decode(&sent))
			at = r.Method + " " + r.URL.Path
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","reason":%q,"code":%d}`, reason, code)
		}))
		c := assert.Value(Connect(Connection{Rancher: s.URL, Token: "token-abcde:x", Insecure: true, Dial: memnet.Dial}))(t)
		e := corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Cluster", Name: "harbour"}, Message: strings.Repeat("x", mostOfEvent-1) + "é"}
		for _, code = range []int{http.StatusCreated, http.StatusConflict} { // it was created before
			assert.NilError(t, c.CreateEvent(t.Context(), "1", e))
		}
		assert.Truef(t, strings.HasSuffix(at, "POST /k8s/clusters/local/api/v1/namespaces/default/events") && sent.Name == "rke-lm.1" && sent.Source.Component == Program && utf8.ValidString(sent.Message) && len(sent.Message) == mostOfEvent-1, "%s: %+v", at, sent)
		code = http.StatusForbidden
		assert.True(t, c.CreateEvent(t.Context(), "2", e) != nil, "an Event that was not created is no error")
		code, reason = http.StatusConflict, "Conflict"
		assert.True(t, c.CreateEvent(t.Context(), "3", e) != nil, "an Event that the conflict of a quota kept from being created is no error")
	})
}

func TestAPathIsThatOfACollectionOrOfOneObject(t *testing.T) {
	for want, got := range map[string]string{
		"/api/v1/nodes": Path("v1", "nodes", "", ""),
		"/api/v1/namespaces/kube-system/secrets/a":       Path("v1", "secrets", "kube-system", "a"),
		"/apis/apps/v1/namespaces/a%2Fb/daemonsets":      Path("apps/v1", "daemonsets", "a/b", ""),
		"/apis/management.cattle.io/v3/clusters/c-x%3Fy": Path("management.cattle.io/v3", "clusters", "", "c-x?y"),
	} {
		assert.Equal(t, got, want)
	}
}
