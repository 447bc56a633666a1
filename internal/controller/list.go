// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// List returns the LeaderMigrations of Rancher's own cluster, in all namespaces; none where
// their definition is not installed.
func List(ctx context.Context, c *kube.Client) ([]v1alpha1.LeaderMigration, error) {
	at := "/apis/" + v1alpha1.GroupVersion.String()
	r := kube.Resource{What: "list leadermigrations.rke-lm.io", Path: at + "/" + v1alpha1.MigrationResource, Kind: v1alpha1.MigrationKind + "List", JSONOnly: true, Optional: true}
	list, err := kube.Collect(ctx, c, r, func(raw *json.RawMessage, kept []v1alpha1.LeaderMigration) []v1alpha1.LeaderMigration {
		lm, bad := decoded(*raw)
		if bad != nil {
			lm.Status.Conditions = append(lm.Status.Conditions, metav1.Condition{Type: v1alpha1.Failed, Status: metav1.ConditionTrue, Reason: string(invalidSpec), Message: redact.Text(bad.Error())})
		}
		return append(kept, *lm)
	})
	switch {
	case kube.HasStatus(err, http.StatusNotFound):
		return nil, nil
	case kube.HasStatus(err, http.StatusForbidden):
		// A user without the permission is refused also where there is no definition; this one every user can get.
		_, known := c.Do(ctx, kube.Request{What: "get the resources of " + v1alpha1.GroupVersion.Group, Method: http.MethodGet, Path: at, Accept: "application/json", Optional: true})
		if kube.HasStatus(known, http.StatusNotFound) {
			return nil, nil
		}
	}
	return list, err
}
