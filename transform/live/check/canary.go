// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

// CanaryName is that of the namespace of a canary, a Service that shows whether the cloud controllers work,
// and of the Service in it. Only objects with the mark are deleted.
const CanaryName = "rke-lm-canary"

// canaryMark is a label of both. A namespace without it is another user's.
const canaryMark = "rke-lm.io/canary"

// port is one at which nothing listens: the Service has no pods.
const port = 9

var marks = map[string]string{canaryMark: "true"}

// CanaryNamespace is the namespace of the Service.
func CanaryNamespace() any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": CanaryName, "labels": marks}}
}

// CanaryService is a Service of the type LoadBalancer without pods.
func CanaryService() any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"namespace": CanaryName, "name": CanaryName, "labels": marks, "annotations": map[string]string{aws.LoadBalancerInternal: "true"}},
		"spec":     corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "canary", Port: port, Protocol: corev1.ProtocolTCP}}},
	}
}

// IsCanary reports whether an object is one that a run made.
func IsCanary(raw []byte) bool {
	var o metav1.PartialObjectMetadata
	return json.Unmarshal(raw, &o) == nil && o.Labels[canaryMark] == "true"
}

// ErrForeignCanary refuses a namespace of another user.
var ErrForeignCanary = transform.NewError(transform.ExitRefused, "the cluster has a namespace "+CanaryName+" that rke-lm did not create; rename or delete it, or run without --canary-service")

// CanaryAddress returns the address of the load balancer of the Service; "" while it has none.
// It fails where another program than the cloud controllers makes the load balancer.
func CanaryAddress(raw []byte) (string, error) {
	var s corev1.Service
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("the response is not a Service: %w", err)
	}
	if class := s.Spec.LoadBalancerClass; class != nil {
		return "", fmt.Errorf("a webhook has set loadBalancerClass %s on the canary Service, so it proves nothing about the cloud controllers; exempt the namespace %s from the webhook, or run without --canary-service", *class, CanaryName)
	}
	for _, i := range s.Status.LoadBalancer.Ingress {
		if address := cmp.Or(i.Hostname, i.IP); address != "" {
			return address, nil
		}
	}
	return "", nil
}
