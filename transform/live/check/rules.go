// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

type rule = transform.Checked[*evaluation]

// always are all stages; the others are those after which something has to hold.
var (
	always      = stages.Names()
	lockable    = stages.Where(func(c stages.Check) bool { return c.Granted && c.Lease == stages.Anyone })
	flagOn      = stages.Where(func(c stages.Check) bool { return c.Lease != stages.Anyone })
	underLease  = stages.Where(func(c stages.Check) bool { return c.Lease.Needed() })
	managerRuns = stages.Where(func(c stages.Check) bool { return c.Manager })
	externally  = stages.Where(func(c stages.Check) bool { return c.External })
	released    = stages.Where(func(c stages.Check) bool { return c.Released })
	uncordoned  = stages.Where(func(c stages.Check) bool { return !c.Cordoned })
)

// Rules are the rules of live clusters, for the documentation.
func Rules() []transform.Rule { return transform.RulesOf(liveRules()) }

// liveRules is the one table of them.
func liveRules() []rule {
	return []rule{
		ccmArgsUnsafe, ccmRemoved, clusterNotSettled, cordonLeft, daemonSetEmpty,
		daemonSetRestarting, ecrCredentials, inTreeVolumes, leaderMissing, cloudControllersNowhere,
		leaseRBACMissing, leaseWrongHolder, leaseTimingsUnsafe, loadBalancerChanged, loadBalancerPending,
		loadBalancerStale, nodeNameHidden, nodeNew, nodeNotReady, nodeRenamed,
		nodeUninitialized, providerIDDuplicate, providerIDForeign, providerIDMalformed, providerIDMissing,
		providerIDZoneMismatch, reverted, stageNotReached, cloudControllersTwice,
	}
}

// ofStages reports whether one of the stages was asked for whose result a rule alone shows.
func ofStages(list []string) func(*evaluation) bool {
	return func(j *evaluation) bool { return slices.Contains(list, j.Check.Stage) }
}
