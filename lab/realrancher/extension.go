// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/lab/admission"
)

// Rancher's extension API server listens on a port that is fixed in Rancher, so one Rancher runs at a time.
const (
	extension        = "127.0.0.1:6666"
	extensionService = "imperative-api-extension"
)

// startExtension lets kube-apiserver find that server. In a cluster Rancher is a pod, and the endpoint of the
// Service; here it is a program, and the address replaces it.
func (s *Server) startExtension(ctx context.Context) error {
	s.egress.Lead(system+"/"+extensionService, extension)
	port, protocol, name, ready := int32(6666), corev1.ProtocolTCP, "", true
	if err := admission.Service(ctx, s.client, system, extensionService, port); err != nil {
		return err
	}
	_, err := s.client.DiscoveryV1().EndpointSlices(system).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: extensionService + "-lab", Labels: map[string]string{discoveryv1.LabelServiceName: extensionService}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.42.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}},
	}, metav1.CreateOptions{})
	return err
}
