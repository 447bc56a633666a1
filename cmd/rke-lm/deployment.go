// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	manifests "github.com/rke-lm/rke-lm/transform/manifest"
)

func newDeployment(o *options) *cobra.Command {
	var scaling manifests.Scaling
	c := &cobra.Command{
		Use:   "deployment PATH...",
		Short: "Make a Deployment of a static kube-controller-manager",
		Long: `Print a Deployment that runs the kube-controller-manager of a static pod, with
comments on what to do before you apply it. Several replicas make the change of the
leader faster; one of them is active at a time.

Keys and certificates come from Secrets, for which the comments have the commands,
or from the hosts of control planes; they are never part of an image.`,
		Example: `  rke-lm deployment /etc/kubernetes/manifests/kube-controller-manager.yaml
  rke-lm deployment --certificates host-path kube-controller-manager.yaml`,
		RunE: func(c *cobra.Command, args []string) error { return o.deployment(c.Context(), scaling, args) },
	}
	f := c.Flags()
	f.IntVar(&scaling.Replicas, "replicas", 2, "number of pods, at least 2: with one, the Deployment could not replace it")
	f.StringVar(&scaling.Certificates, "certificates", manifests.FromSecret, "source of keys and certificates: secret, so that the pods can run on any node, or host-path, on control-plane nodes")
	oneOf(c, "certificates", []string{manifests.FromSecret, manifests.FromHostPath})
	return c
}

func (o *options) deployment(ctx context.Context, scaling manifests.Scaling, paths []string) error {
	if scaling.Replicas < 2 {
		return errors.New("--replicas: a Deployment with one kube-controller-manager cannot replace it, because nothing would create the new pod; use 2 or more")
	}
	o.Format, o.Finder.SeparateDocuments = manifests.Name, true
	results, err := run.Each(ctx, o.Search.Run(ctx, paths), func(f clusters.Cluster, _ transform.Target) (*manifests.Converted, error) {
		return manifests.Convert(f.Docs[0], scaling)
	})
	if err != nil {
		return err
	}
	all := o.collect("deployment")
	var printer clusters.Printer
	for _, r := range results {
		if r.Made != nil {
			if err := printer.Print(o.Data, []byte(r.Made.Text)); err != nil {
				return err
			}
			report.WriteFindings(o.Err, o.ErrPalette, r.Made.Findings, "")
		}
		all.Fail(r.Err)
	}
	return withCode(all.Code)
}
