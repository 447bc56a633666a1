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

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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
