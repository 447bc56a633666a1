// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"encoding/json"

	"github.com/rke-lm/rke-lm/internal/kubeapi"
)

// clusterList is a list of Rancher's clusters, each as the server wrote it.
type clusterList struct {
	kubeapi.CustomList
	Items []json.RawMessage `json:"items"`
}

// Provisioned returns the clusters that a Rancher provisions, as JSON; none where
// the cluster is not Rancher's own.
func (o *Observer) Provisioned(ctx context.Context) ([]json.RawMessage, error) {
	r := kubeapi.Resource{What: "list clusters.provisioning.cattle.io", Path: "/apis/provisioning.cattle.io/v1/clusters", Kind: "ClusterList", JSONOnly: true}
	list, err := kubeapi.Collect(ctx, o.Client, r, func(l *clusterList, kept []json.RawMessage) []json.RawMessage { return append(kept, l.Items...) })
	if kubeapi.Absent(err) {
		return nil, nil
	}
	return list, kubeapi.Refusal(err)
}
