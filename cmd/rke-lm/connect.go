// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/run"
)

// naming are the flags that name a server, a cluster or a file of one.
var naming = []string{"cluster", "selector", "context", "kubeconfig", "rancher-url", "rancher-cli", run.CCMValues}

// checkGiven refuses an empty one, as a shell makes of a variable that is not set: it
// would mean another cluster than the one that was meant.
func checkGiven(flags *pflag.FlagSet) error {
	for _, name := range naming {
		if f := flags.Lookup(name); f != nil && f.Changed && strings.TrimSpace(f.Value.String()) == "" {
			return fmt.Errorf("--%s is empty; set a value, or remove it", name)
		}
	}
	return nil
}

// connectionFlags are those of every verb that connects to something.
func (c *options) connectionFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.Kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, or ~/.kube/config)")
	f.StringVar(&c.Context, "context", "", "context of the kubeconfig (default: the current context)")
	f.StringVar(&c.Rancher, "rancher-url", "", "URL of a Rancher, instead of a kubeconfig; the token is read from "+rancher.TokenVariable+" or --token-file")
	f.StringVar(&c.TokenFile, "token-file", "", "file with the token for that Rancher")
	f.StringVar(&c.RancherCLI, "rancher-cli", "", "a server of the Rancher CLI, instead of a kubeconfig (default: the current server)")
	f.Lookup("rancher-cli").NoOptDefVal = rancher.CurrentServer
	f.StringVar(&c.Authority, "cacert", "", "file with the CA certificate of the server")
	f.BoolVar(&c.Insecure, "insecure-skip-tls-verify", false, "do not verify the certificate of the server: any server at this address gets the token")
	cmd.MarkFlagsMutuallyExclusive("rancher-url", "rancher-cli", "kubeconfig")
	cmd.MarkFlagsMutuallyExclusive("rancher-url", "rancher-cli", "context")
	cmd.MarkFlagsMutuallyExclusive("cacert", "insecure-skip-tls-verify")
	group(f, connectionGroup)
}

// clusterFlag is that of verbs about one cluster.
func (c *options) clusterFlag(f *pflag.FlagSet) {
	f.StringVar(&c.Cluster, "cluster", "", "a cluster of a Rancher; NAMESPACE/NAME, a name, or an ID such as c-m-abcdefgh")
	group(f, connectionGroup)
}

// clusterFlags are those of verbs about several clusters.
func (c *options) clusterFlags(cmd *cobra.Command) {
	c.clusterFlag(cmd.Flags())
	cmd.Flags().StringVarP(&c.Selector, "selector", "l", "", "the clusters of a Rancher with these labels")
	cmd.MarkFlagsMutuallyExclusive("cluster", "selector")
	group(cmd.Flags(), connectionGroup)
}

// allFlags are those of verbs about files that also take clusters of a Rancher.
func (c *options) allFlags(cmd *cobra.Command) {
	c.fileFlags(cmd.Flags())
	c.connectionFlags(cmd)
	c.clusterFlags(cmd)
	c.targetFlags(cmd.Flags())
}
