// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/shell"
)

// defaultRetryTime is for how long a request is tried again that fails for a
// reason that may pass.
const defaultRetryTime = 30 * time.Second

// firstTime is for how long a connection is tried that is refused before the server has
// answered once.
const firstTime = 5 * time.Second

// deniedTime is for how long a cluster may refuse what it has allowed.
const deniedTime = defaultRetryTime

// outage notes on standard error when the cluster cannot be seen.
func (s streams) outage() observe.Outage {
	return observe.Outage{Notes: s.err, Denials: deniedTime}
}

// connection names a live cluster, as kubectl does, or a Rancher and clusters
// after it.
type connection struct {
	kubeconfig, context             string
	rancher, tokenFile, commandLine string
	authority                       string
	insecure                        bool
	cluster, selector               string
	warned                          bool // of --insecure-skip-tls-verify
	waits                           bool // for a server that does not respond, because a stage restarts it
}

// naming are the flags that name a server, a cluster or a file of one.
var naming = []string{"cluster", "selector", "context", "kubeconfig", "rancher-url", "rancher-cli", ccmValues}

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

// flags are those of every verb that connects to something.
func (c *connection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	defer group(f, connectionGroup)()
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, or ~/.kube/config)")
	f.StringVar(&c.context, "context", "", "context of the kubeconfig (default: the current context)")
	f.StringVar(&c.rancher, "rancher-url", "", "URL of a Rancher, instead of a kubeconfig; the token is read from "+rancher.TokenVariable+" or --token-file")
	f.StringVar(&c.tokenFile, "token-file", "", "file with the token for that Rancher")
	f.StringVar(&c.commandLine, "rancher-cli", "", "a server of the Rancher CLI, instead of a kubeconfig (default: the current server)")
	f.Lookup("rancher-cli").NoOptDefVal = rancher.CurrentServer
	f.StringVar(&c.authority, "cacert", "", "file with the CA certificate of the server")
	f.BoolVar(&c.insecure, "insecure-skip-tls-verify", false, "do not verify the certificate of the server: any server at this address gets the token")
	cmd.MarkFlagsMutuallyExclusive("rancher-url", "rancher-cli", "kubeconfig")
	cmd.MarkFlagsMutuallyExclusive("rancher-url", "rancher-cli", "context")
	cmd.MarkFlagsMutuallyExclusive("cacert", "insecure-skip-tls-verify")
}

// clusterFlag is that of verbs about one cluster.
func (c *connection) clusterFlag(f *pflag.FlagSet) {
	defer group(f, connectionGroup)()
	f.StringVar(&c.cluster, "cluster", "", "a cluster of a Rancher; NAMESPACE/NAME, a name, or an ID such as c-m-abcdefgh")
}

// clusterFlags are those of verbs about several clusters.
func (c *connection) clusterFlags(cmd *cobra.Command) {
	defer group(cmd.Flags(), connectionGroup)()
	c.clusterFlag(cmd.Flags())
	cmd.Flags().StringVarP(&c.selector, "selector", "l", "", "the clusters of a Rancher with these labels")
	cmd.MarkFlagsMutuallyExclusive("cluster", "selector")
}

// liveFlags are those of verbs about files that also take clusters of a Rancher.
func (o *options) liveFlags(cmd *cobra.Command) {
	o.connection.flags(cmd)
	o.clusterFlags(cmd)
}

// live reports whether clusters of a Rancher are meant, and not files.
func (c *connection) live() bool { return c.cluster != "" || c.selector != "" }

// checkPaths refuses flags of a connection without a cluster, and files next to one.
func (c *connection) checkPaths(paths []string) error {
	switch {
	case c.live() && len(paths) > 0:
		return errors.New("--cluster and --selector select clusters of a Rancher; remove the files, or the flags")
	case !c.live() && *c != (connection{}):
		return errors.New("the connection flags require --cluster or --selector; add one, or remove them")
	}
	return nil
}

// inShell is what commands need to reach the cluster that the flags name; for one of a Rancher
// nothing, as only rke-lm knows its address.
func (c *connection) inShell() (named shell.Cluster) {
	if c.live() {
		return named
	}
	if c.context != "" {
		named.Context = shell.Word(c.context)
	}
	if c.kubeconfig != "" {
		named.Kubeconfig = shell.Word(c.kubeconfig)
	}
	return named
}

// server are the flags that name the server, for the commands of a runbook.
func (c *connection) server() (flags []string, err error) {
	for _, f := range []struct {
		name, value string
		file        bool
	}{
		{"--kubeconfig", c.kubeconfig, true}, {"--context", c.context, false}, {"--rancher-url", c.rancher, false}, {"--token-file", c.tokenFile, true},
		{"--rancher-cli", c.commandLine, false}, {"--cacert", c.authority, true},
	} {
		if f.value == "" {
			continue
		}
		if f.file {
			if f.value, err = filepath.Abs(f.value); err != nil {
				return nil, err
			}
		}
		flags = append(flags, f.name+"="+f.value)
	}
	if c.insecure {
		flags = append(flags, "--insecure-skip-tls-verify")
	}
	return flags, nil
}

func userAgent() string { return "rke-lm/" + currentBuild().Version }

// named is a context of the kubeconfig.
func (c *connection) named(context string, retryTime time.Duration) kube.Connection {
	return kube.Connection{Kubeconfig: c.kubeconfig, Context: context, UserAgent: userAgent(), RetryFor: retryTime, Authority: c.authority, Insecure: c.insecure}
}

// connect finds the server that the flags name.
func (c *connection) connect(s streams, retryTime time.Duration) (*rancher.Server, error) {
	return c.connectTo(s, c.context, retryTime)
}

func (c *connection) connectTo(s streams, context string, retryTime time.Duration) (*rancher.Server, error) {
	if c.tokenFile != "" && c.rancher == "" {
		return nil, errors.New("--token-file requires --rancher-url; add it, or remove --token-file")
	}
	if c.insecure && !c.warned {
		c.warned = true
		fmt.Fprintln(s.err, "WARNING: --insecure-skip-tls-verify accepts any certificate: any server at this address can read the token and everything else, and send any response; use --cacert")
	}
	source := rancher.Source{Connection: c.named(context, retryTime), CLI: c.commandLine}
	source.Rancher, source.TokenFile, source.Dial = c.rancher, c.tokenFile, s.network
	source.Refused = func(text string) { fmt.Fprintln(s.err, text) }
	if !c.waits {
		source.FirstFor = firstTime
	}
	return rancher.Open(source)
}

// query is what the flags say of the clusters that are meant.
func (c *connection) query() rancher.Query {
	return rancher.Query{Name: c.cluster, Selector: c.selector}
}

// dial connects to one cluster: a cluster of a Rancher, or the server itself.
func (c *connection) dial(ctx context.Context, s streams, retryTime time.Duration) (*observe.Observer, error) {
	observer, _, _, err := c.reach(ctx, s, retryTime)
	return observer, err
}

// reach also returns the server, and the object of a cluster that a Rancher manages.
func (c *connection) reach(ctx context.Context, s streams, retryTime time.Duration) (*observe.Observer, *rancher.Server, rancher.Object, error) {
	server, err := c.connect(s, retryTime)
	if err != nil {
		return nil, nil, rancher.Object{}, err
	}
	if c.cluster == "" {
		return &observe.Observer{Client: server.Local()}, server, rancher.Object{}, nil
	}
	found, err := server.Find(ctx, c.query())
	if err != nil {
		return nil, nil, rancher.Object{}, err
	}
	if found[0].ID == "" {
		return nil, nil, found[0], exitcode.With(exitcode.Refused, fmt.Errorf("%s: Rancher has not created the cluster yet; wait until it exists", found[0].Title()))
	}
	client, err := server.Downstream(found[0].ID)
	return &observe.Observer{Client: client}, server, found[0], err
}
