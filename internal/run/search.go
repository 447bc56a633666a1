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
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
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

// ChoiceValues are the values of the choices that have a few.
var ChoiceValues = map[string][]string{
	"end-state":               {transform.EndStateExternal, transform.EndStateOverride},
	"cordon":                  {transform.CordonAuto, transform.CordonAlways, transform.CordonNever},
	"rbac":                    {transform.RBACRole, transform.RBACPatch},
	"leader-migration-config": {transform.ConfigDefault, transform.ConfigGenerate},
}

// CheckChoices refuses choices that are wrong, or mean nothing together. rules are those that can be accepted, or not.
func CheckChoices(t transform.Target, rules []transform.Rule) error {
	for _, c := range []struct{ flag, value string }{
		{"end-state", t.EndState}, {"cordon", t.Cordon}, {"rbac", t.RBAC}, {"leader-migration-config", t.LeaderMigrationConfig},
	} {
		if err := CheckOneOf(c.flag, c.value, ChoiceValues[c.flag]...); c.value != "" && err != nil {
			return err
		}
	}
	for flag, version := range map[string]string{"rancher-version": t.RancherVersion, "rke-version": t.RKEVersion} {
		if version != "" && !semver.IsValid("v"+strings.TrimPrefix(version, "v")) {
			return fmt.Errorf("--%s %s is not a version such as 1.5.12", flag, version)
		}
	}
	if err := checkMigration(t); err != nil {
		return err
	}
	for _, stage := range t.ManualDone {
		if err := CheckOneOf("manual-done", stage, stages.Names()...); err != nil {
			return err
		}
	}
	return CheckAccept(t.Accept, rules)
}

// checkMigration refuses what is no release of Kubernetes to upgrade to, and choices of leader migration that mean
// nothing together.
func checkMigration(t transform.Target) error {
	if v := "v" + strings.TrimPrefix(t.Version, "v"); t.Version != "" && (!semver.IsValid(v) || semver.MajorMinor(v) == v || semver.Major(v) != "v1") {
		return fmt.Errorf("--target-version %s is not a release such as v1.27.16+rke2r1", t.Version)
	}
	if err := leadermigration.CheckLease(t.Lease()); err != nil {
		return fmt.Errorf("--lease-name: %w", err)
	}
	generated := t.LeaderMigrationConfig == transform.ConfigGenerate
	switch {
	case t.KeepLeaderMigration && t.NoLeaderMigration:
		return errors.New("--keep-leader-migration and --no-leader-migration are mutually exclusive; remove one")
	case t.ShortLeases && t.NoLeaderMigration:
		return errors.New("--short-leases and --no-leader-migration are mutually exclusive: without leader migration there is no lease to acquire; remove one")
	case generated && t.NoLeaderMigration:
		return errors.New("--leader-migration-config generate and --no-leader-migration are mutually exclusive; remove one")
	case t.NodeIPAM && !generated && !t.NoLeaderMigration:
		return errors.New("--nodeipam: the managers do not migrate it by default, and both would run it; add --leader-migration-config generate")
	case t.Lease() != transform.DefaultLease && !generated:
		return errors.New("--lease-name: only a configuration can set another name in both managers; add --leader-migration-config generate")
	}
	return nil
}

// CheckAccept refuses rules that do not exist or must not be accepted.
func CheckAccept(accept []string, rules []transform.Rule) error {
	for _, id := range accept {
		i := slices.IndexFunc(rules, func(r transform.Rule) bool { return r.Is(id) })
		if i < 0 {
			return fmt.Errorf("--accept %s: no such rule; %s", id, args.Meant(id, Acceptable(rules), "rke-lm rules lists them"))
		}
		if !rules[i].Acceptable() {
			return fmt.Errorf("--accept %s: this rule cannot be accepted; correct what it finds", id)
		}
	}
	return nil
}

// Acceptable are the names of the rules that can be accepted.
func Acceptable(rules []transform.Rule) []string {
	can := lists.Where(rules, transform.Rule.Acceptable)
	return lists.Distinct(lists.Map(can, func(r transform.Rule) string { return r.ID }))
}

// CheckOneOf refuses a value that a flag does not take.
func CheckOneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("--%s %s is not known; %s", flag, value, args.Meant(value, allowed, "use one of "+strings.Join(allowed, ", ")))
}
