// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
)

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
