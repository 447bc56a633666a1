// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// clusterList is a list of Rancher's clusters, each as the server wrote it.
type clusterList struct {
	metav1.ListMeta `json:"metadata"`
	Items           []json.RawMessage `json:"items"`
}

// Unmarshal is never called: custom resources have no protobuf.
func (*clusterList) Unmarshal([]byte) error { return errNoProtobuf }

// Provisioned returns the clusters that a Rancher provisions, as JSON; none where
// the cluster is not Rancher's own.
func (c *Client) Provisioned(ctx context.Context) ([]json.RawMessage, error) {
	r := resource{what: "list clusters.provisioning.cattle.io", path: "/apis/provisioning.cattle.io/v1/clusters", kind: "ClusterList", jsonOnly: true}
	list, err := collect(ctx, c, r, func(l *clusterList, kept []json.RawMessage) []json.RawMessage { return append(kept, l.Items...) })
	if status(err, http.StatusNotFound) {
		return nil, nil
	}
	return list, Refusal(err)
}
