// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/kubeapi"
	"github.com/rke-lm/rke-lm/internal/observe"
)

// defaultPatience is for how long a request is tried again that fails for a
// reason that may pass.
const defaultPatience = 30 * time.Second

// connection names a live cluster, as kubectl does.
type connection struct{ kubeconfig, context string }

func (c *connection) flags(f *pflag.FlagSet) {
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "file with the cluster to connect to (default: KUBECONFIG, or ~/.kube/config)")
	f.StringVar(&c.context, "context", "", "context of that file (default: the current one)")
}

func (c *connection) named(context string, patience time.Duration) kubeapi.Connection {
	return kubeapi.Connection{Kubeconfig: c.kubeconfig, Context: context, UserAgent: "rke-lm/" + currentBuild().Version, Patience: patience}
}

func (c *connection) dial(patience time.Duration) (*observe.Observer, error) {
	client, err := kubeapi.Connect(c.named(c.context, patience))
	if err != nil {
		return nil, err
	}
	return &observe.Observer{Client: client}, nil
}

// pause waits, or returns false when the run is to end.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
