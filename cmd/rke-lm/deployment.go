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

// deploymentOptions are the flags of deployment.
type deploymentOptions struct {
	*options
	scaling manifests.Scaling
}

func newDeployment(o *options) *cobra.Command {
	d := &deploymentOptions{options: o}
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
		RunE: func(c *cobra.Command, args []string) error { return d.run(c.Context(), args) },
	}
	f := c.Flags()
	f.IntVar(&d.scaling.Replicas, "replicas", 2, "number of pods, at least 2: with one, the Deployment could not replace it")
	f.StringVar(&d.scaling.Certificates, "certificates", manifests.FromSecret, "source of keys and certificates: secret, so that the pods can run on any node, or host-path, on control-plane nodes")
	oneOf(c, "certificates", []string{manifests.FromSecret, manifests.FromHostPath})
	return c
}

func (d *deploymentOptions) run(ctx context.Context, paths []string) error {
	if d.scaling.Replicas < 2 {
		return errors.New("--replicas: a Deployment with one kube-controller-manager cannot replace it, because nothing would create the new pod; use 2 or more")
	}
	d.Distro, d.Finder.SeparateDocuments = manifests.Name, true
	o, err := d.Search.Run(ctx, paths)
	if err != nil {
		return err
	}
	results, err := run.Each(ctx, o, func(f clusters.Cluster, _ transform.Target) (*manifests.Converted, error) {
		return manifests.Convert(f.Docs[0], d.scaling)
	})
	if err != nil {
		return err
	}
	all := d.collect("deployment")
	var printer clusters.Printer
	for _, r := range results {
		if r.Made != nil {
			if err := printer.Print(d.Data, []byte(r.Made.Text)); err != nil {
				return err
			}
			report.WriteFindings(d.Err, d.ErrPalette, r.Made.Findings, "")
		}
		all.Fail(r.Err)
	}
	return withCode(all.Code)
}
