// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	// RetryTime is for how long a request is tried again that fails for a reason that may pass.
	RetryTime = 30 * time.Second
	// FirstTime is for how long a connection is tried that is refused before the server has answered once.
	FirstTime = 5 * time.Second
)

// Connector connects to a live cluster, which is named as for kubectl, or to a Rancher and clusters after it.
type Connector struct {
	rancher.Source
	Cluster, Selector string
	Notes             io.Writer // what is to be known of connections
	Waits             bool      // for a server that does not respond, because a stage restarts it

	warned bool // of Insecure
}

// Outage notes when the cluster cannot be seen.
func (c *Connector) Outage() observe.Outage {
	return observe.Outage{Notes: c.Notes, Denials: RetryTime}
}

// Live reports whether clusters of a Rancher are meant, and not files.
func (c *Connector) Live() bool { return c.Cluster != "" || c.Selector != "" }

// CheckPaths refuses flags of a connection without a cluster, files next to one, and neither files nor one.
func (c *Connector) CheckPaths(paths []string) error {
	switch {
	case c.Live() && len(paths) > 0:
		return errors.New("--cluster and --selector select clusters of a Rancher; remove the files, or the flags")
	case !c.Live() && c.named():
		return errors.New("the connection flags require --cluster or --selector; add one, or remove them")
	case !c.Live() && len(paths) == 0:
		return errors.New("no path; use a file, a folder, or - for standard input")
	}
	return nil
}

// named reports whether flags name a server, or clusters of a Rancher.
func (c *Connector) named() bool {
	server, err := c.Flags()
	return c.Live() || len(server) > 0 || err != nil
}

// InShell is what commands need to reach the cluster that the flags name; for one of a Rancher
// nothing, as only rke-lm knows its address.
func (c *Connector) InShell() (named action.Cluster) {
	if c.Live() {
		return named
	}
	if c.Context != "" {
		named.Context = action.Word(c.Context)
	}
	if c.Kubeconfig != "" {
		named.Kubeconfig = action.Word(c.Kubeconfig)
	}
	return named
}

// Flags are those that name the server, for the commands of a runbook.
func (c *Connector) Flags() (flags []string, err error) {
	for _, f := range []struct {
		name, value string
		file        bool
	}{
		{"--kubeconfig", c.Kubeconfig, true}, {"--context", c.Context, false}, {"--rancher-url", c.Rancher, false}, {"--token-file", c.TokenFile, true},
		{"--rancher-cli", c.CLI, false}, {"--cacert", c.Authority, true},
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
	if c.Insecure {
		flags = append(flags, "--insecure-skip-tls-verify")
	}
	return flags, nil
}

// Query is what the flags say of the clusters that are meant.
func (c *Connector) Query() rancher.Query {
	return rancher.Query{Name: c.Cluster, Selector: c.Selector}
}

// Connect finds the server that the flags name.
func (c *Connector) Connect(retryTime time.Duration) (*rancher.Server, error) {
	return c.connectTo(c.Context, retryTime)
}

func (c *Connector) connectTo(context string, retryTime time.Duration) (*rancher.Server, error) {
	if c.TokenFile != "" && c.Rancher == "" {
		return nil, errors.New("--token-file requires --rancher-url; add it, or remove --token-file")
	}
	if c.Insecure && !c.warned {
		c.warned = true
		fmt.Fprintln(c.Notes, "WARNING: --insecure-skip-tls-verify accepts any certificate: any server at this address can read the token and everything else, and send any response; use --cacert")
	}
	source := c.Source
	source.Context, source.RetryFor = context, retryTime
	source.Refused = func(text string) { fmt.Fprintln(c.Notes, text) }
	if !c.Waits {
		source.FirstFor = FirstTime
	}
	return rancher.Open(source)
}

// Reach connects to one cluster: a cluster of a Rancher, or the server itself. It also returns the server, and
// the object of a cluster that a Rancher manages.
func (c *Connector) Reach(ctx context.Context, retryTime time.Duration) (*observe.Observer, *rancher.Server, rancher.Object, error) {
	server, err := c.Connect(retryTime)
	if err != nil {
		return nil, nil, rancher.Object{}, err
	}
	if c.Cluster == "" {
		return &observe.Observer{Client: server.Local()}, server, rancher.Object{}, nil
	}
	found, err := server.Find(ctx, c.Query())
	if err != nil {
		return nil, nil, rancher.Object{}, err
	}
	if found[0].ID == "" {
		return nil, nil, found[0], notCreated(found[0])
	}
	client, err := server.Downstream(found[0].ID)
	return &observe.Observer{Client: client}, server, found[0], err
}

// Clusters are the names of the clusters of the Rancher, for a shell that completes one: nothing is noted.
func (c *Connector) Clusters(ctx context.Context) ([]string, error) {
	c.Notes = io.Discard
	server, err := c.Connect(0)
	if err != nil {
		return nil, err
	}
	found, err := server.Find(ctx, rancher.Query{})
	return lists.Map(found, rancher.Object.Title), err
}

func notCreated(o rancher.Object) error {
	return transform.WithExitCode(transform.ExitRefused, fmt.Errorf("%s: Rancher has not created the cluster yet; wait until it exists", o.Title()))
}

// RancherVersion is the version of a Rancher that was chosen, or else its own. It notes one that is not known.
func (c *Connector) RancherVersion(ctx context.Context, server *rancher.Server, chosen string) string {
	version := cmp.Or(chosen, server.Version(ctx))
	if v := k8s.RancherOf(version); version != "" && !v.Known {
		known := k8s.RancherMinors()
		fmt.Fprintf(c.Notes, "note: Rancher %s is not one of the known versions (%s to %s) and is treated as the strictest of them; --rancher-version sets another one\n",
			version, strings.TrimPrefix(known[0].Minor, "v"), strings.TrimPrefix(known[len(known)-1].Minor, "v"))
	}
	return version
}

// Engine reads the arguments of a kube-controller-manager off what an engine was given that runs it outside of pods.
type Engine struct {
	// Owns reports whether a document is that, and Arguments reads it.
	Owns      func(*yamledit.Document) bool
	Arguments func(file string, doc *yamledit.Document) (check.Given, error)
	// Applied reads an object: the arguments that were applied, others that are possible, and whether any were applied.
	Applied func(e *rollout.Engine, title string) (applied check.Given, open []check.Given, done bool, err error)
}

// Arguments are those of a kube-controller-manager that is no pod, by files, or else
// by the cluster's object on a Rancher. They are read again and again, and change
// while a stage rolls out.
type Arguments struct {
	Engine Engine
	Files  []string
	Server *rancher.Server
	Object rancher.Object // of any kind

	versions map[string]check.Versions
	from     []string // where those that were used are written
}

// Of returns the arguments that are possible next to these managers; none where
// kube-controller-manager is a pod, which shows its own.
func (a *Arguments) Of(ctx context.Context, managers []observed.Manager) ([]check.Given, error) {
	if slices.ContainsFunc(managers, func(m observed.Manager) bool { return m.Component == observed.KubeManager }) {
		return nil, nil
	}
	if a.versions == nil {
		a.versions = map[string]check.Versions{}
	}
	for _, file := range a.Files {
		if given, err := a.fromFile(file); err == nil { // while it is being written, what it said counts
			a.versions[file] = a.versions[file].Written(given)
		}
	}
	if len(a.Files) == 0 && a.Object.Kind == transform.Management {
		if err := a.ask(ctx); err != nil {
			return nil, err
		}
	}
	list := lists.Flat(lists.Keys(a.versions), func(of string) []check.Given { return a.versions[of] })
	a.from = lists.Distinct(append(a.from, lists.Map(list, func(g check.Given) string { return g.From })...))
	return list, nil
}

// ask reads the object again.
func (a *Arguments) ask(ctx context.Context) error {
	now, err := a.Server.Get(ctx, a.Object)
	if err != nil {
		return err
	}
	engine, err := rollout.ReadEngine(now.Raw)
	if err != nil {
		return err
	}
	applied, open, done, err := a.Engine.Applied(engine, now.Title())
	if err == nil && done {
		a.versions[now.Title()] = a.versions[now.Title()].Served(applied, open...)
	}
	return err
}

// fromFile reads the one RKE cluster in a file.
func (a *Arguments) fromFile(file string) (check.Given, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return check.Given{}, fmt.Errorf("--arguments-from: %w; use the cluster.yml of RKE", err)
	}
	var clusters []*yamledit.Document
	for _, chunk := range yamledit.Split(file, text) {
		doc, err := yamledit.Parse(chunk)
		if err != nil {
			return check.Given{}, err
		}
		if a.Engine.Owns(doc) {
			clusters = append(clusters, doc)
		}
	}
	if len(clusters) != 1 {
		return check.Given{}, fmt.Errorf("--arguments-from: %s has %d RKE clusters; use a file with one, such as the cluster.yml of RKE", file, len(clusters))
	}
	return a.Engine.Arguments(file, clusters[0])
}

// Search finds the clusters that a verb is for, in files or in a Rancher, and the choices for them.
type Search struct {
	Connector
	Formats   []transform.Format // that are known
	Format    string             // the only one that is read; "" for all
	HostNames string             // file with the host names of Nodes; "" for none
	Copies    bool               // the verb uses a copy of the values file for a live cluster
	In        io.Reader
	Options   // which Check and Run complete
}

// Check refuses choices that are wrong, and completes the others.
func (s *Search) Check() error {
	t, f := &s.Target, &s.Finder
	if t.EndStateBy = cmp.Or(t.EndStateBy, transform.EndStateByFlag); t.EndState == "" {
		t.EndStateBy = ""
	}
	f.Forced = s.Format != ""
	f.Formats = lists.Where(s.Formats, func(d transform.Format) bool { return !f.Forced || d.Name == s.Format })
	f.Configs = s.HostNames != "" || t.EndState == transform.EndStateExternal
	if f.Values != "" {
		f.Only = CCMValues
	}
	if s.HostNames != "" {
		f.Only = HostNames
		text, err := os.ReadFile(s.HostNames)
		if err != nil {
			return fmt.Errorf("--"+HostNames+": %w; check the path and its permissions", err)
		}
		if t.HostNames, err = transform.ReadHostNames(s.HostNames, text); err != nil {
			return err
		}
	}
	return CheckChoices(*t, KnownRules(s.Formats))
}

// CheckFormat refuses one that is not known.
func (s *Search) CheckFormat() error {
	if s.Format == "" {
		return nil
	}
	return CheckOneOf("distro", s.Format, lists.Map(s.Formats, func(d transform.Format) string { return d.Name })...)
}

// CheckLive refuses host names and a values file with clusters of a Rancher, unless there is one and the
// verb uses a copy.
func (s *Search) CheckLive() error {
	switch {
	case s.HostNames != "" && s.Selector != "":
		return errors.New("--" + HostNames + " is of one cluster; use --cluster in place of --selector")
	case s.Finder.Values == "":
		return nil
	case s.Selector != "":
		return errors.New("--" + CCMValues + " is of one cluster; use --cluster in place of --selector")
	case !s.Copies:
		return errors.New("--" + CCMValues + ": this command changes or checks files or objects, and a live cluster has no such file; name the file of the cluster, such as the output of kubectl get -o yaml, in place of --cluster")
	}
	return nil
}

// Run finds the clusters in the paths, or in the Rancher that is named.
func (s *Search) Run(ctx context.Context, paths []string) Options {
	if s.Err = s.Check(); s.Err != nil {
		return s.Options
	}
	defer s.Progress.Start(ctx).End()
	s.Progress.Reached("clusters", 0, 0)
	s.Nodes, s.Parsed = yamledit.Spent()
	found, err := s.find(ctx, paths)
	if s.Found = found; err != nil {
		s.Found = []clusters.Result{clusters.Failed(err)}
	}
	return s.Options
}

func (s *Search) find(ctx context.Context, paths []string) ([]clusters.Result, error) {
	if s.Live() {
		if err := cmp.Or(s.CheckPaths(paths), s.CheckLive()); err != nil {
			return nil, err
		}
		server, err := s.Connect(RetryTime)
		if err != nil {
			return nil, err
		}
		return s.Finder.Rancher(ctx, server, s.RancherVersion(ctx, server, s.Target.RancherVersion), s.Query()), nil
	}
	if err := cmp.Or(s.CheckPaths(paths), s.CheckFormat()); err != nil {
		return nil, err
	}
	found := s.Finder.Files(ctx, paths, s.In)
	if n := len(found.Saved); n > 0 {
		fmt.Fprintf(s.Notes, "note: %d files of saved plans are not read, such as %s; apply them with --plan\n", n, found.Saved[0].Name)
	}
	if s.Finder.Unknown && len(found.Results) == 0 { // as in the files of a commit
		fmt.Fprintln(s.Notes, "note: no cluster in these files")
	}
	return found.Results, nil
}
