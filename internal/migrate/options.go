// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"time"

	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform/live/observation"
	"github.com/rke-lm/rke-lm/transform/live/ownership"
	"github.com/rke-lm/rke-lm/transform/live/route"
)

// Options are what a user chose for a run over one cluster. A run does not change them.
type Options struct {
	Server  *rancher.Server
	Object  rancher.Object // of the cluster
	Planner route.Planner
	Accept  []string // rules whose errors are accepted

	Until        string // the last stage of a migration; "" for all
	EtcdSnapshot bool   // take snapshots of etcd
	// CanaryService proves at the end of a migration that the cloud controllers work.
	CanaryService bool

	Timeout  time.Duration // of each wait
	Interval time.Duration // between two looks at what is waited for

	AuditLog string // a file; "" for none
	User     User
	// Given reads the arguments that a kube-controller-manager may have that is no pod;
	// nil where it is one.
	Given func(context.Context, []observation.Manager) ([]ownership.Given, error)
	// Restart restarts the kubelet of a machine; nil where a person does it.
	Restart func(context.Context, route.KubeletRestart) error
	// Confirm asks whether to continue with a stage; nil for yes.
	Confirm func(ctx context.Context, stage string) (bool, error)
	// Permit fails when the run must not write any more; nil where it always may.
	Permit func() error
	// OnEvent is called with each event, from one goroutine at a time; nil for none.
	OnEvent func(Event)
	// Continue and Revert are the command lines that continue with the run, and take the
	// stages back.
	Continue, Revert string
}

// User is who runs the tool, and where.
type User struct {
	Name string `json:"user"`
	Host string `json:"host"`
}
