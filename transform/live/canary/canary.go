// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package canary decides whether the cloud controllers of a cluster do their work: by a
// Service of their own, by the provider IDs of Nodes and by Events.
//
// Invariant: nothing depends on a clock. What is new is what was not there before. Only
// objects with the mark are deleted.
package canary

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// Name is that of the namespace and of the Service in it.
const Name = "rke-lm-canary"

// Mark is a label of both. A namespace without it is another user's.
const Mark = "rke-lm.io/canary"

// internal keeps the load balancer from being reachable from the Internet
// (k8s.io/cloud-provider-aws/pkg/providers/v1/aws.go).
const internal = "service.beta.kubernetes.io/aws-load-balancer-internal"

// port is one at which nothing listens: the Service has no pods.
const port = 9

var marks = map[string]string{Mark: "true"}

// Namespace is the namespace of the Service, as JSON.
func Namespace() ([]byte, error) {
	return json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": Name, "labels": marks}})
}

// Service is a Service of the type LoadBalancer without pods, as JSON.
func Service() ([]byte, error) {
	return json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"namespace": Name, "name": Name, "labels": marks, "annotations": map[string]string{internal: "true"}},
		"spec":     corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "canary", Port: port, Protocol: corev1.ProtocolTCP}}},
	})
}

// Marked reports whether an object is one that a run made.
func Marked(raw []byte) bool {
	var o metav1.PartialObjectMetadata
	return json.Unmarshal(raw, &o) == nil && o.Labels[Mark] == "true"
}

// ErrForeign refuses a namespace of another user.
var ErrForeign = exitcode.New(exitcode.Refused, "the cluster has a namespace "+Name+" that rke-lm did not create; rename or delete it, or run without --canary-service")

// Address returns the address of the load balancer of the Service; "" while it has none.
// It fails where another program than the cloud controllers makes the load balancer.
func Address(raw []byte) (string, error) {
	var s corev1.Service
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("the response is not a Service: %w", err)
	}
	if class := s.Spec.LoadBalancerClass; class != nil {
		return "", fmt.Errorf("a webhook has set loadBalancerClass %s on the canary Service, so it proves nothing about the cloud controllers; exempt the namespace %s from the webhook, or run without --canary-service", *class, Name)
	}
	for _, i := range s.Status.LoadBalancer.Ingress {
		if i.Hostname != "" {
			return i.Hostname, nil
		}
		if i.IP != "" {
			return i.IP, nil
		}
	}
	return "", nil
}
