// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

// The agent counts to max-failures, which is none, and Rancher to failure-threshold, which is one.
func TestAPlanThatFailedIsTriedAgain(t *testing.T) {
	l := withRKE2(t)
	machine := l.cluster.Machines[0].Name
	l.cluster.FailPlans(machine, 1, "no space left on device")
	l.patch(clusters, rancher.Namespace, "lab", `[{"op":"add","path":"/spec/rkeConfig/machineGlobalConfig/kube-controller-manager-arg/-","value":"v=3"}]`)
	secrets := l.local.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(rancher.Namespace)
	read := func(ctx context.Context) map[string]string {
		o, err := secrets.Get(ctx, machine+"-machine-plan", metav1.GetOptions{})
		if err != nil {
			return nil
		}
		data := map[string]string{}
		for key, v := range o.Object["data"].(map[string]any) {
			text, _ := base64.StdEncoding.DecodeString(v.(string))
			data[key] = string(text)
		}
		return data
	}
	eventually(t, "the failed try", func(ctx context.Context) (bool, string) {
		data := read(ctx)
		p := rollout.ReadPlan(map[string][]byte{"plan": []byte(data["plan"]), "failed-checksum": []byte(data["failed-checksum"]), "failure-count": []byte(data["failure-count"]), "max-failures": []byte(data["max-failures"]), "failed-output": []byte(data["failed-output"])})
		return p != nil && p.Failures == 1 && !p.GivenUp && p.Output == "install: no space left on device" && data["max-failures"] == "-1" && data["failure-threshold"] == "1", fmt.Sprint(p)
	})
	eventually(t, "what Rancher says of it", func(ctx context.Context) (bool, string) {
		conditions := fmt.Sprint(l.status(ctx, controlPlanes, rancher.Namespace, "lab", "conditions"))
		return strings.Contains(conditions, "failure while applying plan"), conditions
	})
	eventually(t, "the try that passes", func(ctx context.Context) (bool, string) {
		data := read(ctx)
		list := l.run(cluster.KCM)
		return data["appliedPlan"] == data["plan"] && data["failure-count"] == "0" && data["failed-output"] == "" && strings.Count(fmt.Sprint(list), "--v=3") == 2, fmt.Sprint(list)
	})
}
