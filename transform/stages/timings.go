// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Electors are the arguments with which the managers of a cluster ask for their leases.
type Electors struct {
	At          yamledit.Node // of what has the cloud-controller-manager
	Kube, Cloud []args.Arg
	// Shown means that the documents have the cloud-controller-manager, Runs that it may run as they have it, and Left that
	// it has left the migration.
	Shown, Runs, Left bool
	Release           string // of the cloud-controller-manager, such as v1.26
	Cluster           string // the release of the cluster
}

// firstRecord is the first release whose candidates wait for the lease duration in the leader's record, and no longer for their
// own (k8s.io/client-go tools/leaderelection, tryAcquireOrRenew at v0.27.0).
const firstRecord = "v1.27"

// WaitsForRecord reports whether a candidate of a release waits for the lease duration of the leader.
func WaitsForRecord(release string) bool { return k8s.From(release, firstRecord) }

// Show takes a cloud-controller-manager with its arguments, its image tag, whether it takes part in the migration, and whether
// the provider is external.
func (e *Electors) Show(list []args.Arg, tag string, migrates, external bool) {
	e.Cloud, e.Release, e.Shown = list, semver.MajorMinor(tag), true
	e.Left, e.Runs = external && !migrates, !external || migrates
}

// timings are those that arguments set, or those of short leases.
func (c Migration) timings(list, short []args.Arg) leadermigration.Timings {
	if c.Target.ShortLeases && leadermigration.LacksTimings(list) {
		list = short
	}
	t, _ := leadermigration.TimingsOf(list)
	return t
}

// kube and cloud are the timings of the two managers during the migration.
func (c Migration) kube() leadermigration.Timings {
	return c.timings(c.Electors.Kube, leadermigration.KubeTimings())
}

func (c Migration) cloud() leadermigration.Timings {
	return c.timings(c.Electors.Cloud, leadermigration.CloudTimings())
}

// switches are the timings by which the cloud-controller-manager acquires the lease of kube-controller-manager.
func (c Migration) switches() leadermigration.Timings {
	t := c.cloud()
	if WaitsForRecord(c.Electors.Release) {
		t.LeaseDuration = c.kube().LeaseDuration
	}
	return t
}

// gap is for how long no manager runs the cloud controllers while a stage rolls out, with leader migration, for which it was
// measured by the calls to AWS of real managers of 1.26 with the default timings (leases of 15 s), with one and with three
// control planes, in RKE2, RKE and manifests.
func (c Migration) gap(s *Stage) transform.Span {
	if c.Target.NoLeaderMigration || !c.Target.Situation.HasInTreeProvider() || s.waits == nil {
		return transform.Span{}
	}
	return s.gapOf(s.waits(c))
}

// gapOf returns the measured gap of a stage, or for other timings what follows from them: no manager gives a lease back when
// it exits, so a candidate waits for the lease duration and for its next try, which comes after 1 to 2.2 retry periods
// (k8s.io/client-go tools/leaderelection, JitterFactor).
func (s *Stage) gapOf(t leadermigration.Timings) transform.Span {
	const slowest = 2.2
	def, short := leadermigration.DefaultTimings, leadermigration.ShortTimings
	switch {
	case t.LeaseDuration == def.LeaseDuration && t.RetryPeriod == def.RetryPeriod:
		return s.gap
	case t.LeaseDuration == short.LeaseDuration && t.RetryPeriod == short.RetryPeriod && s.shortGap != transform.Span{}:
		return s.shortGap
	}
	most := float64(max(s.takeovers, 1)) * (t.LeaseDuration.Seconds() + slowest*t.RetryPeriod.Seconds())
	return transform.Span{Least: int(t.LeaseDuration / time.Second), Most: int(math.Ceil(most))}
}

// expect states a gap.
func expect(gap transform.Span) string {
	return "Expect a gap of " + gap.String() + " in which no manager runs the cloud controllers"
}

// UndoGap states for how long no one runs the cloud controllers while a stage is undone; "" where there is no such time, or
// where leader migration, of which it is, is not used.
func UndoGap(t transform.Target, stage string) string {
	s := Named(stage)
	gap := s.undoGap
	if t.ShortLeases && s.shortUndoGap != (transform.Span{}) {
		gap = s.shortUndoGap
	}
	switch {
	case t.NoLeaderMigration:
		return ""
	case gap == transform.Span{}:
		return s.noUndoGap
	}
	return expect(gap) + s.undoGapEnds + "."
}

// Why short leases are refused next to a cloud-controller-manager with the default timings.
const (
	TimingsStay        = "--short-leases: the cloud-controller-manager has the default timings of leases, and no stage changes those of one that may run: an old and a new pod could lead at the same time"
	WithoutShortLeases = "remove --short-leases; or undo " + InstallCCM + ", and plan again with --short-leases"
)

// Timed is the choice with short leases where the operator chose them, or the documents show that he did. It fails past 1.26.
// Where a cloud-controller-manager may run without, they are refused.
func (c Migration) Timed(at yamledit.Node) (t transform.Target, err error) {
	t = c.Target
	e, has := c.Electors, leadermigration.HasTimings(c.Electors.Cloud, leadermigration.CloudTimings())
	switch late := !t.Situation.HasInTreeProvider(); {
	case t.Upgrades():
	case late && t.ShortLeases && !has && !e.Left:
		err = at.Errorf("--short-leases: from Kubernetes 1.27 on kube-controller-manager has no cloud controllers, so no lease changes its holder", "remove --short-leases")
	case late, t.NoLeaderMigration, e.Left && !has:
		t.ShortLeases = false
	case e.Runs && leadermigration.LacksTimings(e.Cloud):
		t.ShortLeases, t.ShortLeasesRefused = false, t.ShortLeases || t.ShortLeasesRefused
	case !t.ShortLeasesRefused:
		t.ShortLeases = t.ShortLeases || has || !e.Runs && len(leadermigration.LeavingTimings(e.Kube)) > 0
	}
	return t, err
}

// unlessRefused is the edit of a stage that gives a manager its timings. Those of a cloud-controller-manager that may run would
// change pod by pod, and an old and a new pod could lead at the same time.
func (c Migration) unlessRefused(edit func() (*yamledit.Edit, error)) func() (*yamledit.Edit, error) {
	if e := c.Electors; edit != nil && c.Target.ShortLeasesRefused && e.Runs {
		return func() (*yamledit.Edit, error) {
			return nil, &transform.Conflict{At: e.At.Errorf(TimingsStay, WithoutShortLeases)}
		}
	}
	return edit
}

// Undone is the choice with which kube-controller-manager gets its flag back: with short leases where it would lead for longer
// without them than the cloud-controller-manager waits. Where the documents do not show that one, the operator states it. It
// fails with *transform.Conflict where the user's own timings would be unsafe.
func (c Migration) Undone(undo *transform.Reverse, at yamledit.Node) (t transform.Target, err error) {
	t = c.Target
	e, waits := c.Electors, t.CloudLease
	switch {
	case t.NoLeaderMigration:
		return t, nil
	case e.Shown:
		cloud, _ := leadermigration.TimingsOf(e.Cloud)
		waits = cloud.LeaseDuration
	case t.ShortLeases:
		waits = leadermigration.ShortTimings.LeaseDuration
	case waits == 0:
		undo.Usual(at, "the arguments of the cloud-controller-manager are not in the file: its leases have the default timings, unless it was installed with --short-leases, which this undo needs as well then")
		return t, nil
	}
	kube, last := leadermigration.TimingsOf(e.Kube)
	if t.ShortLeases = last < 0 && kube.Outlasts(waits); t.ShortLeases {
		kube, _ = leadermigration.TimingsOf(leadermigration.KubeTimings())
	}
	if kube.Outlasts(waits) && !WaitsForRecord(e.Release) {
		err = &transform.Conflict{At: at.Errorf(fmt.Sprintf("kube-controller-manager would lead for up to %s after its last renewal, and the cloud-controller-manager acquires the lease after %s", kube.Leads(), waits),
			"change the timings of one of them first; see the rule lease-timings-unsafe")}
	}
	return t, err
}

// Why stages change the timings of leases, or keep them.
const (
	enableShortWhy  = "With --short-leases the leader tries for 4 seconds to renew its leases, so that it ends before the cloud-controller-manager, whose leases last for 8 seconds, acquires the migration lease. Its lease duration stays."
	installShortWhy = "With --short-leases its leases last for 8 seconds. The stage begins once every kube-controller-manager runs with its timings."
	switchShortWhy  = " The edit also removes the timings that --short-leases gave kube-controller-manager."
	disableShortWhy = "The cloud-controller-manager keeps the timings of --short-leases: pods of before and after the edit must not wait for different times."

	recordWhy = " A cloud-controller-manager of 1.27 or later waits for the lease duration that kube-controller-manager recorded, and --short-leases does not shorten this gap."
)

// switchShortWhy is what the switch does with timings, and what short leases do not shorten.
func (c Migration) switchShortWhy() (why string) {
	e := c.Electors
	if leadermigration.HasTimings(e.Kube, leadermigration.KubeTimings()) || c.Target.ShortLeases && leadermigration.LacksTimings(e.Kube) {
		why = switchShortWhy
	}
	if c.Target.ShortLeases && WaitsForRecord(e.Release) {
		why += recordWhy
		if tag := ccm.TestedTag(e.Cluster); !WaitsForRecord(e.Cluster) && tag != "" {
			why += " One with the image tag " + tag + " does not."
		}
	}
	return why
}

// shortWhy is why a stage gives a manager timings, or keeps them.
func (c Migration) shortWhy(list, timings []args.Arg, why string) string {
	switch {
	case !c.Target.ShortLeases:
		return ""
	case leadermigration.LacksTimings(list) || leadermigration.HasTimings(list, timings):
		return " " + why
	}
	return " Your own timings of its leases stay."
}
