// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/kubeapi"
	"github.com/rke-lm/rke-lm/internal/observe"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// statusOptions are the flags of status.
type statusOptions struct {
	*options
	connection
	rancher   string
	tokenFile string
	authority string
}

// statusPatience is short: one cluster that is down must not hold up the others.
const statusPatience = 5 * time.Second

// tokenVariable holds the token of a Rancher.
const tokenVariable = "RANCHER_TOKEN"

func newStatus(o *options) *cobra.Command {
	s := &statusOptions{options: o}
	c := &cobra.Command{
		Use:   "status",
		Short: "Print one line for each cluster of a kubeconfig or a Rancher: how far it has come",
		Long: `Print one line for each context of a kubeconfig, as its cluster shows itself, and
for each cluster that a Rancher provisions, as its object is written: distro,
version, provider, the last stage that is done, and what the rules find.

The token of --rancher-url is read from RANCHER_TOKEN, or from --token-file.`,
		Example: `  rke-lm status
  rke-lm status --context orchard -o json
  rke-lm status --rancher-url https://rancher.example.com --token-file token`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c.Context()) },
	}
	f := c.Flags()
	s.connection.flags(f)
	o.outputFlag(c, "text", "json", "yaml")
	f.StringVar(&s.rancher, "rancher-url", "", "address of a Rancher, instead of a kubeconfig")
	f.StringVar(&s.tokenFile, "token-file", "", "file with the token for that Rancher")
	f.StringVar(&s.authority, "cacert", "", "file with the certificate authority of that Rancher")
	return c
}

func (s *statusOptions) run(ctx context.Context) error {
	if err := checkOneOf("output", s.output, "text", "json", "yaml"); err != nil {
		return err
	}
	targets, err := s.targets()
	if err != nil {
		return err
	}
	lists, codes := make([][]outputs.Status, len(targets)), make([]int, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() { lists[i], codes[i] = s.look(ctx, t) })
	}
	all.Wait()
	result, code := outputs.Statuses{APIVersion: outputs.APIVersion, Kind: "Status", Clusters: []outputs.Status{}}, exitDone
	for i := range targets {
		result.Clusters = append(result.Clusters, lists[i]...)
		code = max(code, codes[i])
	}
	if s.output == "text" {
		outputs.WriteStatuses(s.out, result.Clusters)
	} else if err := s.dump(result); err != nil {
		return err
	}
	return withCode(code)
}

// targets are the API servers to look at.
func (s *statusOptions) targets() ([]kubeapi.Connection, error) {
	if s.rancher != "" {
		token, err := s.token()
		c := s.named("", statusPatience)
		c.Rancher, c.Token, c.Authority = s.rancher, token, s.authority
		return []kubeapi.Connection{c}, err
	}
	contexts := []string{s.context}
	if s.context == "" {
		var err error
		if contexts, err = kubeapi.Contexts(s.named("", 0)); err != nil {
			return nil, err
		}
	}
	var list []kubeapi.Connection
	for _, name := range contexts {
		list = append(list, s.named(name, statusPatience))
	}
	return list, nil
}

func (s *statusOptions) token() (string, error) {
	if !strings.HasPrefix(s.rancher, "https://") {
		return "", errors.New("--rancher-url has to begin with https://, because a token is sent to it")
	}
	if s.tokenFile == "" {
		if token := os.Getenv(tokenVariable); token != "" {
			return token, nil
		}
		return "", fmt.Errorf("there is no token for %s; set %s, or name a file with --token-file", s.rancher, tokenVariable)
	}
	text, err := os.ReadFile(s.tokenFile)
	if err != nil {
		return "", fmt.Errorf("the token cannot be read: %w; check the path", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// look returns the clusters behind one API server: itself, or those that it
// provisions as a Rancher.
func (s *statusOptions) look(ctx context.Context, c kubeapi.Connection) ([]outputs.Status, int) {
	failed := func(err error) ([]outputs.Status, int) {
		return []outputs.Status{{Name: name(c), Problem: err.Error()}}, exitCode(err)
	}
	client, err := kubeapi.Connect(c)
	if err != nil {
		return failed(err)
	}
	clusters, err := (&observe.Observer{Client: client}).Provisioned(ctx)
	if err != nil {
		return failed(err)
	}
	var list []outputs.Status
	for _, raw := range clusters {
		list = append(list, s.provisioned(raw))
	}
	if c.Rancher != "" {
		return list, exitDone
	}
	o, err := settled(ctx, &observe.Observer{Client: client}, nil, live.Choice{})
	if err != nil {
		return failed(err)
	}
	outline := live.Outlined(o)
	itself := outputs.Status{Name: name(c), Distro: outline.Distro, Version: o.Version, Provider: outline.Provider, Reached: outline.Reached}
	count(&itself, live.Judge(o, live.Choice{}).Findings)
	return append([]outputs.Status{itself}, list...), exitDone
}

func name(c kubeapi.Connection) string {
	if c.Rancher != "" {
		return c.Rancher
	}
	if c.Context == "" {
		return "(current context)"
	}
	return c.Context
}

// provisioned reads how far a cluster has come off its object, as plan does.
func (s *statusOptions) provisioned(raw json.RawMessage) outputs.Status {
	f, err := s.options.open(yamledit.Chunk{File: titleOf(raw), Bytes: raw})
	if err == nil && f.doc == nil {
		err = errors.New("it is not " + s.documents())
	}
	if err != nil {
		return outputs.Status{Name: titleOf(raw), Problem: err.Error()}
	}
	id := f.distro.Identify(f.doc)
	out := outputs.Status{Name: id.Title(), Distro: id.Distro, Version: id.Version}
	plan, err := transform.Build(f.distro, f.doc, transform.Target{})
	if err != nil {
		out.Problem = err.Error()
		return out
	}
	out.Version, out.Provider = plan.Cluster.Version, "aws"
	for _, step := range plan.Steps {
		if step.State == transform.Done {
			out.Reached = step.Stage.Name
		}
		count(&out, step.Findings)
	}
	if step, has := plan.Step(transform.SwitchToExternal); has && step.State == transform.Done {
		out.Provider = "external"
	}
	return out
}

// titleOf names a cluster before it is parsed.
func titleOf(raw json.RawMessage) string {
	var head struct {
		Metadata transform.Identity `json:"metadata"`
	}
	if json.Unmarshal(raw, &head) != nil {
		return "(a cluster)"
	}
	return head.Metadata.Title()
}

func count(s *outputs.Status, findings []transform.Finding) {
	for _, f := range findings {
		switch {
		case f.Stops():
			s.Errors++
		case f.Severity == transform.Warning:
			s.Warnings++
		}
	}
}
