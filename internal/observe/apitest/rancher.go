// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"net/http"
	"strings"
)

// ofRancher answers with machines, and with Secrets by their names.
func (s *Server) ofRancher(r *http.Request) answer {
	if strings.HasSuffix(r.URL.Path, "/cluster.x-k8s.io/v1beta1/machines") && s.Machines != "" {
		return answer{http.StatusOK, "application/json", []byte(s.Machines)}
	}
	for i := range s.Secrets {
		if o := &s.Secrets[i]; r.URL.Path == "/api/v1/namespaces/"+o.Namespace+"/secrets/"+o.Name {
			return asProtobuf("Secret", o)
		}
	}
	return refusal(http.StatusNotFound, "there is no such object")
}
