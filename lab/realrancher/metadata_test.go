// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestTheMetadataHasWhatReleasesTake(t *testing.T) {
	w := httptest.NewRecorder()
	metadata([]string{"v1.26.15+rke2r1"}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/data.json", nil))
	type arguments map[string]struct{ Type string }
	var data struct {
		RKE2 struct {
			Releases []struct {
				Version               string
				ServerArgs, AgentArgs arguments
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &data); err != nil || len(data.RKE2.Releases) != 1 {
		t.Fatal(err, w.Body)
	}
	r := data.RKE2.Releases[0]
	if r.Version != "v1.26.15+rke2r1" || r.ServerArgs["kube-apiserver-arg"].Type != "array" || r.AgentArgs["kubelet-arg"].Type != "array" {
		t.Errorf("%+v", r)
	}
	if _, agent := r.AgentArgs["kube-apiserver-arg"]; agent {
		t.Error("agents take an argument of servers")
	}
}
