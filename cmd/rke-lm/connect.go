// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/action"
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

// repeated are the flags of the command line that another command about the same clusters takes too: the migration
// options with the configuration file that they name, and the connection. What the configuration of the folder chooses
// applies by itself. selected are those that select the clusters among others.
func (o *options) repeated() (choices, server, selected []string) {
	o.given.Visit(func(f *pflag.Flag) {
		switch group := groupOf(f); {
		case o.configured[f.Name] || f.Name == "cluster":
		case slices.Contains([]string{"exclude", "skip-unknown"}, f.Name):
			selected = append(selected, flagWords(f)...)
		case group == connectionGroup:
			server = append(server, flagWords(f)...)
		case group == choiceGroup || group == inputGroup || f.Name == "config":
			choices = append(choices, flagWords(f)...)
		}
	})
	return choices, server, selected
}

// commandLine returns the command line of another verb with the flags that were
// given, except some.
func commandLine(cmd *cobra.Command, verb string, except ...string) string {
	return action.Words(slices.Concat([]string{"rke-lm", verb}, givenFlags(cmd, except...))...)
}

// givenFlags are the flags that were given, except some, as they are typed.
func givenFlags(cmd *cobra.Command, except ...string) (words []string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(except, f.Name) {
			words = append(words, flagWords(f)...)
		}
	})
	return words
}

// flagWords is a flag as it is typed: a list once for each value.
func flagWords(f *pflag.Flag) (words []string) {
	values := []string{f.Value.String()}
	if list, is := f.Value.(pflag.SliceValue); is {
		values = list.GetSlice()
	}
	for _, v := range values {
		if v != "" && v == f.NoOptDefVal {
			words = append(words, "--"+f.Name)
		} else {
			words = append(words, "--"+f.Name+"="+v)
		}
	}
	return words
}
