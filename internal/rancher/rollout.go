// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

// clusterLabel names the cluster of a Machine.
const clusterLabel = "cluster.x-k8s.io/cluster-name"

// Rollout looks at what Rancher made of the last change of a cluster.
func (s *Server) Rollout(ctx context.Context, o Object) (seen rollout.Objects, err error) {
	defer func() { err = s.explained(err) }()
	if !o.Kind.Planned {
		now, err := s.Get(ctx, o)
		if err == nil {
			seen.Engine, err = rollout.ReadEngine(now.Raw)
		}
		return seen, err
	}
	raw, err := s.controlPlane(ctx, o)
	if err == nil && raw != nil {
		seen.ControlPlane, err = rollout.ReadControlPlane(raw)
	}
	if err != nil {
		return seen, err
	}
	if seen.Machines, err = s.Machines(ctx, o); err != nil {
		return seen, err
	}
	return seen, observe.Plans(ctx, s.local, seen.Machines)
}

// controlPlane reads the RKEControlPlane of a cluster; nil where there is none.
func (s *Server) controlPlane(ctx context.Context, o Object) ([]byte, error) {
	return s.namespaced(ctx, o, "rke.cattle.io/v1", "rkecontrolplanes", o.Name, "RKEControlPlane")
}

// namespaced reads an object in the namespace of a cluster, which need not be there.
func (s *Server) namespaced(ctx context.Context, o Object, version, resource, name, kind string) ([]byte, error) {
	group, _, _ := strings.Cut(version, "/")
	a, err := s.local.Object(ctx, kube.Request{What: "get " + resource + "." + group, Method: http.MethodGet, Path: kube.Path(version, resource, o.Namespace, name)}, kind)
	return kube.Found(a.Body, err)
}

// MachineConfig reads a machine configuration of pools on AWS, by its name; nil where there is none.
func (s *Server) MachineConfig(ctx context.Context, o Object, name string) ([]byte, error) {
	return s.namespaced(ctx, o, "rke-machine-config.cattle.io/v1", aws.MachineConfigs, name, aws.MachineConfigKind)
}

// Machines lists the machines of a cluster, without their plans.
func (s *Server) Machines(ctx context.Context, o Object) ([]rollout.Machine, error) {
	r := kube.Resource{
		Version: "cluster.x-k8s.io/v1beta1", Name: "machines", Namespace: o.Namespace, Kind: "MachineList",
		Options: metav1.ListOptions{LabelSelector: clusterLabel + "=" + o.Name},
	}
	list, err := kube.CollectAs(ctx, s.local, r, rollout.ReadMachine)
	if err != nil {
		return nil, s.explained(err)
	}
	slices.SortFunc(list, func(a, b rollout.Machine) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}
