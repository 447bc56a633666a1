// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"encoding/json"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// router lets users through to the clusters that they may get (rancher 2.7.9 to 2.14 pkg/clusterrouter and
// pkg/k8slookup): it asks for the cluster of management.cattle.io in their name.
type router struct{ config *rest.Config }

// leads reports whether a user may continue to a cluster. Where not, the answer is that of Rancher's own API server in a
// form of Rancher's.
func (o *router) leads(w http.ResponseWriter, r *http.Request, id, user string) bool {
	config := rest.CopyConfig(o.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	client, err := dynamic.NewForConfig(config)
	if err == nil {
		_, err = client.Resource(managed).Get(r.Context(), id, metav1.GetOptions{})
	}
	if err == nil {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		routed(w, http.StatusInternalServerError, "ServerError", err.Error())
		return false
	}
	routed(w, int(status.Status().Code), string(status.Status().Reason), err.Error())
	return false
}

// routed answers as Rancher's router does, whose type of content is a guess.
func routed(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"Code": map[string]any{"Code": code, "Status": status}, "Message": message, "Cause": nil, "FieldName": "",
	})
}
