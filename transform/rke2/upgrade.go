// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// move is the upgrade to the target version.
func (m *migration) move() k8s.Upgrade {
	return k8s.Upgrade{
		From: m.Version, To: m.Target.Version,
		At: m.Root.Get("spec", "kubernetesVersion"), Holder: m.Root.Get("spec"),
		Format: "an RKE2", Example: "v1.27.16+rke2r1", Is: effective.IsRelease,
	}
}

// migrated reports whether no edit of a stage is left to do on the release of now.
func (m *migration) migrated() bool {
	now := *m
	now.Target.Version = ""
	return m.isExternal() && plan.Complete(&now)
}

// checkImages requires an image of the cloud-controller-manager for each minor in between, where
// the file has one to move.
func (m *migration) checkImages() error {
	chart, found, err := m.chart()
	if err != nil || !found || chart.ImageMinor() == "" {
		return err
	}
	for minor := k8s.Minor(m.Version); minor <= k8s.Minor(m.Target.Version); minor++ {
		o := m.chartOptions()
		o.Minor = fmt.Sprintf("v1.%d", minor)
		if ccm.DefaultTag(Name, o.Minor) == "" && semver.MajorMinor(m.Target.ImageTag) != o.Minor {
			return o.Unknown(m.move().At)
		}
	}
	return nil
}

// upgradeKubernetes moves the release, and removes the flags that it does not have.
func (m *migration) upgradeKubernetes() transform.Stage {
	return m.Upgrade(transform.Stage{
		Why:     strings.TrimSpace("Rancher upgrades one control plane after another, then the workers." + m.removedWhy()),
		Prepare: m.credentials(),
		Change:  transform.ChangeOf(m.Doc, m.Target, m.upgradeEdit, m.checkUpgrade, nil),
		After:   []action.Action{m.settled()},
	})
}

func (m *migration) upgradeEdit(e *yamledit.Edit) {
	for _, l := range m.Layers {
		m.removeArgs(e, l, apiServerArgs, m.removedFlags(apiServerArgs), args.Update{})
	}
	m.move().Queue(e)
}

// checkUpgrade requires the release, and that kube-apiserver alone loses flags.
func (m *migration) checkUpgrade(after *migration) error {
	removed := func(_ effective.Class, key string, before, now any) bool {
		return key == apiServerArgs && sameArgs(args.Without(args.Of(before), m.removedFlags(key)...), args.Of(now))
	}
	return cmp.Or(transform.Require(after.Version == m.move().Reached(), "the release would not be %s", m.move().Reached()), m.check(after, removed),
		transform.Require(len(after.removedArgs()) == 0, "kube-apiserver would keep %s", strings.Join(args.Names(after.removedArgs()), ", ")))
}

// upgradeCCM moves the image of the chart to the minor of the cluster, and the chart to one that
// grants what the image requires.
func (m *migration) upgradeCCM() transform.Stage {
	s := transform.Stage{NotInFile: m.lacksManager}
	if _, own := m.workload(); own || m.lacksManager() {
		return m.UpgradeNotInFile(ccm.DefaultTag(Name, m.minor()), s)
	}
	s.Change = transform.ChangeOf(m.Doc, m.Target, m.imageEdit, m.checkImage, nil)
	s.After = []action.Action{stages.Rollout("after the edit, wait for the new pods")}
	return m.UpgradedCCM(s)
}

func (m *migration) imageEdit(e *yamledit.Edit) {
	ed, chart, _ := m.editChart(e)
	if tag := m.finalTag(chart); tag != "" {
		chart.Raise(ed, m.chartOptions())
		chart.StopMigrating(ed, tag, true)
	}
}

// checkImage requires that no machine is configured differently, and that the image has the minor
// of the cluster.
func (m *migration) checkImage(after *migration) error {
	chart, _, err := after.chart()
	return cmp.Or(m.check(after, unchanged), err, transform.Require(after.finalTag(chart) == "", "the image would be %s on Kubernetes %s", chart.ImageTag(), m.minor()))
}

// Restarts compares what machines get. A change of additionalManifest restarts nothing.
func (m *migration) Restarts(after transform.Cluster) []transform.Restart {
	return m.Machines.Restarts(&after.(*migration).Machines, m.atOnce("controlPlaneConcurrency"), m.atOnce("workerConcurrency"))
}

// atOnce reads how many machines of a tier Rancher takes at a time.
func (m *migration) atOnce(key string) string {
	switch text := fmt.Sprint(m.RKEConfig().Get("upgradeStrategy", key).Value()); text {
	case "0":
		return "all at once"
	case "1", "", "<nil>":
		return "one at a time"
	default:
		return text + " at a time"
	}
}

// restart counts as Rancher's planner does (rancher pkg/capr/planner,
// fullReconcile and calculateConcurrency): machines with etcd follow one by one, then
// the other control planes by controlPlaneConcurrency, of which 0 means all.
func (m *migration) restart() rules.Restart {
	at := m.RKEConfig().Get("upgradeStrategy", "controlPlaneConcurrency")
	all, alone := m.controlPlanes()
	number, ok := rules.Concurrency(at.Value(), all, math.Ceil)
	if !ok {
		return rules.Restart{}
	}
	most := min(number, alone)
	if number == 0 {
		most = alone
	}
	return rules.Restart{At: at, By: "Rancher", Most: most, All: alone, Of: "control planes without etcd", Key: "upgradeStrategy.controlPlaneConcurrency"}
}

// controlPlanes counts the control planes, and those of them without etcd. A cluster
// without pools does not show it.
func (m *migration) controlPlanes() (all, alone int) {
	for _, c := range m.Classes {
		if !c.ControlPlane() {
			continue
		}
		if !c.Pool.Exists() {
			return rules.MostControlPlanes, rules.MostControlPlanes
		}
		n := 1 // of a pool that does not say
		if q, err := strconv.Atoi(fmt.Sprint(c.Pool.Get("quantity").Value())); err == nil {
			n = q
		}
		all += n
		if !c.Etcd() {
			alone += n
		}
	}
	return all, alone
}
