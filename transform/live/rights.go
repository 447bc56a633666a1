// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/observation"
	"github.com/rke-lm/rke-lm/transform/ownership"
)

func (j *judge) leaseRBACMissing() []transform.Finding {
	var list []transform.Finding
	for _, user := range j.lockers() {
		var verbs []string
		for _, r := range j.Reviews {
			if r.User == user && !r.Allowed {
				verbs = append(verbs, r.Verb)
			}
		}
		if len(verbs) > 0 {
			list = append(list, found(leasePath(j.lease().Name), fmt.Sprintf("%s may not %s the migration lease", user, strings.Join(verbs, ", ")), "apply the stage grant-migration-lease, and look whether its Role and RoleBinding are there"))
		}
	}
	return list
}

// lockers are the users that have to lock the migration lease.
func (j *judge) lockers() []string {
	var users []string
	for _, p := range j.processes {
		if p.Flag || j.behind(transform.GrantMigrationLease, transform.UncordonControlPlane) && p.Loops {
			users = append(users, user(p))
		}
	}
	if j.behind(transform.GrantMigrationLease, transform.UncordonControlPlane) {
		if len(j.of(observation.CloudManager)) == 0 {
			users = append(users, leadermigration.CloudAccount())
		}
		if len(j.of(observation.KubeManager)) == 0 {
			users = append(users, leadermigration.ManagerUser)
		}
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// user is the identity of a process: that of its kubeconfig, or of its service
// account.
func user(p ownership.Process) string {
	_, configured := args.Last(p.Parsed(), "kubeconfig")
	if p.Account != "" && !configured {
		return leadermigration.ServiceAccount(p.Space(), p.Account)
	}
	if p.Component == observation.CloudManager {
		return leadermigration.CloudAccount()
	}
	return leadermigration.ManagerUser
}
