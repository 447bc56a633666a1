// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/aws"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// handovers names the environment variable that has the gaps measured: how often for each row of the table.
const handovers = "LAB_HANDOVERS"

// measuring returns how often, and skips a test where that is not asked for.
func measuring(t *testing.T) int {
	t.Helper()
	n, _ := strconv.Atoi(os.Getenv(handovers))
	if n < 1 {
		t.Skip("takes hours; make handover runs it")
	}
	return n
}

// measured is a cluster that goes through the stages and back, with the gaps of each.
type measured struct {
	*scenario
	name string
	stop time.Duration        // for which the API server responds to nothing, in each stage
	gaps map[string][]float64 // seconds in which no manager called AWS, the longest of each stage
}

// measure begins with the real default timings. A Service is changed each half second, so that its leader calls AWS.
func measure(t *testing.T, name string, planes int) *measured {
	t.Helper()
	s := beginWith(t, cluster.Defaults, []string{"cp-1", "cp-2", "cp-3"}[:planes]...)
	s.join()
	assert.NilError(t, s.service(t.Context(), "web"))
	s.meanwhile(500*time.Millisecond, func(ctx context.Context) error {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"changed":"%d"}}}`, time.Now().UnixMilli())
		_, err := s.client.CoreV1().Services(metav1.NamespaceDefault).Patch(ctx, "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
	return &measured{scenario: s, name: name, gaps: map[string][]float64{}}
}

// undoOf is how the table calls the undo of a stage.
func undoOf(stage string) string { return "undo of " + stage }

// forwardAndBack goes through the stages up to disable-leader-migration, and back. The migration lease that is left is
// deleted: the first manager that migrates would wait for it to expire.
func (m *measured) forwardAndBack(of []transition) {
	m.Helper()
	m.through(of)
	for _, tr := range slices.Backward(of) {
		leader := cluster.KCM
		if tr.step.Stage.Name == stages.DisableLeaderMigration || tr.step.Stage.Name == stages.SwitchToExternal {
			leader = cluster.CCM
		}
		m.stage(undoOf(tr.step.Stage.Name), leader, func() { m.backward(tr) })
	}
	_ = m.client.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(m.Context(), leadermigration.Lease, metav1.DeleteOptions{})
}

// through goes through stages.
func (m *measured) through(of []transition) {
	m.Helper()
	leader := cluster.KCM
	for _, tr := range of {
		if tr.step.Stage.Name == stages.SwitchToExternal {
			leader = cluster.CCM
		}
		m.stage(tr.step.Stage.Name, leader, func() { m.forward(tr) })
	}
}

// stage makes a change and takes down for how long no manager called AWS meanwhile.
func (m *measured) stage(name string, leader cluster.Component, change func()) {
	m.Helper()
	began, slowest := time.Now(), m.pulse.longest.Swap(0)
	var stopped sync.WaitGroup
	if m.stop > 0 {
		stopped.Go(func() {
			time.Sleep(time.Second/2 + rand.N(5*time.Second))
			m.cluster.PauseAPI(m.stop)
		})
	}
	change()
	stopped.Wait()
	if m.stop > 0 {
		leader = "" // one that has lost its lease by that ends, and the other component may be first
	}
	m.settled(leader)
	var last time.Time
	var gap time.Duration
	for _, c := range m.cluster.AWS.Calls() {
		if c.Service == "elb" {
			if c.Time.After(began) && !last.IsZero() {
				gap = max(gap, c.Time.Sub(last))
			}
			last = c.Time
		}
	}
	m.gaps[name] = append(m.gaps[name], gap.Seconds())
	late := m.pulse.longest.Load()
	m.pulse.longest.Store(max(slowest, late))
	fmt.Printf("handover %s: %s gap=%.1f slowest=%.1f\n", m.name, name, gap.Seconds(), time.Duration(late).Seconds())
}

// settled waits until a manager of the component, or of any, calls AWS, and those that run have their main leases. The next stage
// begins at no fixed time after that.
func (m *measured) settled(leader cluster.Component) {
	m.Helper()
	m.eventually(string(leader)+" that calls AWS", func(context.Context) bool {
		by, at := m.caller()
		return by != nil && (leader == "" || by.Component == leader) && by.Alive() && time.Since(at) < time.Second
	})
	for _, c := range []cluster.Component{cluster.KCM, cluster.CCM} {
		if slices.ContainsFunc(m.cluster.Managers(), func(m *cluster.Manager) bool { return m.Component == c && m.Alive() }) {
			m.leads(c)
		}
	}
	time.Sleep(time.Second + rand.N(2*time.Second))
}

// caller returns the process that last called AWS for a load balancer, and when; nil for none.
func (m *measured) caller() (*cluster.Manager, time.Time) {
	for _, c := range slices.Backward(m.cluster.AWS.Calls()) {
		if c.Service == "elb" {
			return processOf(m.cluster.Managers(), c), c.Time
		}
	}
	return nil, time.Time{}
}

// processOf returns the one that made a call: one of a name ends before the next one starts.
func processOf(managers []*cluster.Manager, c aws.Call) *cluster.Manager {
	for _, m := range slices.Backward(managers) {
		if m.Started.Before(c.Time) && m.Caller() == c.Caller {
			return m
		}
	}
	return nil
}

// reign is the time from the first call of a process for a load balancer to its last one.
type reign struct {
	*cluster.Manager
	from, to time.Time
}

// reigns returns those of all processes, in the order in which they began.
func (m *measured) reigns() []reign {
	var list []reign
	managers := m.cluster.Managers()
	for _, c := range m.cluster.AWS.Calls() {
		if c.Service != "elb" {
			continue
		}
		by := processOf(managers, c)
		if i := slices.IndexFunc(list, func(r reign) bool { return r.Manager == by }); i >= 0 {
			list[i].to = c.Time
		} else {
			list = append(list, reign{by, c.Time, c.Time})
		}
	}
	return list
}

// overlap is the longest time in which two processes called AWS.
func (m *measured) overlap() (longest time.Duration) {
	reigns := m.reigns()
	for i, r := range reigns[1:] {
		for _, before := range reigns[:i+1] {
			longest = max(longest, min(before.to.Sub(r.from), r.to.Sub(r.from)))
		}
	}
	return longest
}

// alone requires that there were never two owners.
func (m *measured) alone() {
	m.Helper()
	m.neverTwo()
	if two := m.overlap(); two > 0 {
		m.Errorf("two managers called AWS for %s", two)
	}
}

// exits counts the managers of a component that ended by themselves.
func (m *measured) exits(of cluster.Component) (n int) {
	for _, p := range m.cluster.Managers() {
		if _, over := p.EndedAt(); p.Component == of && over && !p.Asked() {
			n++
		}
	}
	return n
}

// row is one of the table.
type row struct {
	name   string
	planes int
	part   int // of the hand-overs that are asked for: one in so many
	along  func(*scenario) route
	most   map[string]float64 // seconds of the 95th percentile, by stage
}

// The columns of the table. install-ccm and grant-migration-lease have no gap.
var columns = []string{
	stages.EnableLeaderMigration, stages.SwitchToExternal, stages.DisableLeaderMigration, undoOf(stages.DisableLeaderMigration),
	undoOf(stages.SwitchToExternal), undoOf(stages.InstallCCM), undoOf(stages.EnableLeaderMigration),
}

func rows() []row {
	usual, short, newerShort := alongRKE2With(transform.Target{}), alongRKE2With(shortLeases), newerTarget
	newerShort.ShortLeases = true
	aim := map[string]float64{stages.SwitchToExternal: 12, stages.DisableLeaderMigration: 12}
	return []row{
		{"default timings, 1.26", 1, 1, usual, nil},
		{"default timings, 1.26", 3, 1, usual, nil},
		{"short leases, 1.26", 1, 1, short, aim},
		{"short leases, 1.26", 3, 1, short, aim},
		{"default timings, 1.26, then 1.28.1", 3, 4, upgraded(usual), nil},
		{"short leases, 1.26, then 1.28.1", 3, 4, upgraded(short), aim},
		{"default timings, 1.28.1", 1, 4, func(s *scenario) route { return s.alongRKE1(newerTarget) }, nil},
		{"short leases, 1.28.1", 1, 4, func(s *scenario) route { return s.alongRKE1(newerShort) }, nil},
	}
}

// alongRKE2With are the stages of an RKE2 cluster for an operator's choices.
func alongRKE2With(target transform.Target) func(*scenario) route {
	target.EndState, target.Accept = transform.EndStateExternal, []string{"node-rename"}
	return func(s *scenario) route { return s.alongRKE2(plannedFor(s.T, document(s.T, "rke2.yaml"), target)) }
}

// upgraded has the manager of 1.28 from disable-leader-migration on.
func upgraded(along func(*scenario) route) func(*scenario) route {
	return func(s *scenario) route {
		all := along(s)
		for i := range all.transitions {
			if tr := &all.transitions[i]; tr.step.Stage.Name == stages.DisableLeaderMigration {
				before := tr.forward.wanted
				tr.forward.wanted = func() agent.Wanted { return newer(before()) }
			}
		}
		return all
	}
}

// The gaps of all stages and of their undo, from the calls to AWS.
func TestGapsOfHandOvers(t *testing.T) {
	times := measuring(t)
	table := make([]string, len(rows()))
	t.Run("rows", func(t *testing.T) {
		for n, r := range rows() {
			t.Run(fmt.Sprintf("%s, %d", r.name, r.planes), func(t *testing.T) {
				m := measure(t, fmt.Sprintf("%s, %d", r.name, r.planes), r.planes)
				m.undisturbed(r, max(1, times/r.part))
				table[n] = m.row(r)
			})
		}
	})
	fmt.Printf("| Timings, cloud-controller-manager | Control planes | Hand-overs | %s | Exits of kube-controller-manager | Two leaders |\n%s\n%s",
		strings.Join(columns, " | "), strings.Repeat("|---", len(columns)+5)+"|", strings.Join(table, ""))
}

// undisturbed measures a row as often as asked for, or until the time limit of the tests is near.
func (m *measured) undisturbed(r row, times int) {
	m.Helper()
	all := m.along(r.along)
	limit, limited := m.Deadline()
	for n := 0; n < times && (n == 0 || !limited || time.Until(limit) > 10*time.Minute); n++ {
		m.forwardAndBack(all)
	}
	m.alone()
	for stage, most := range r.most {
		if p := percentile(m.gaps[stage], 95); p > most {
			m.Errorf("%s: the 95th percentile of the gaps is %.1f s, more than %.1f s", stage, p, most)
		}
	}
	m.ended = true
}

// along rolls out the start of a route, and returns its stages up to disable-leader-migration.
func (m *measured) along(of func(*scenario) route) []transition {
	m.Helper()
	all := of(m.scenario)
	m.rollOut(all.start)
	m.served()
	m.settled(cluster.KCM)
	n := slices.IndexFunc(all.transitions, func(tr transition) bool { return tr.step.Stage.Name == stages.DisableLeaderMigration })
	return all.transitions[:n+1]
}

// row is the line of the table: the median, the 95th percentile and the longest gap.
func (m *measured) row(r row) string {
	cells := []string{r.name, strconv.Itoa(r.planes), strconv.Itoa(len(m.gaps[columns[0]]))}
	for _, c := range columns {
		cells = append(cells, fmt.Sprintf("%.1f / %.1f / %.1f", percentile(m.gaps[c], 50), percentile(m.gaps[c], 95), percentile(m.gaps[c], 100)))
	}
	return fmt.Sprintf("| %s | %d | %.1f |\n", strings.Join(cells, " | "), m.exits(cluster.KCM), m.overlap().Seconds())
}

// percentile is that of the nearest rank.
func percentile(of []float64, p int) float64 {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// timings are those with which disturbances are measured, and after what time each manager has ended that cannot renew.
var timings = []struct {
	name     string
	along    func(*scenario) route
	kcm, ccm time.Duration
}{
	{"default timings", alongRKE2With(transform.Target{}), 12 * time.Second, 12 * time.Second},
	{"short leases", alongRKE2With(shortLeases), 5 * time.Second, 5 * time.Second},
}

// An API server that stops in the middle lets no second manager lead.
func TestHandOversWhileTheAPIServerStops(t *testing.T) {
	measuring(t)
	for _, w := range timings {
		t.Run(w.name, func(t *testing.T) {
			m := measure(t, w.name+", API server stops", 1)
			all := m.along(w.along)
			for _, m.stop = range []time.Duration{3 * time.Second, 5 * time.Second, 12 * time.Second} {
				m.forwardAndBack(all)
			}
			fmt.Printf("handover %s: two leaders %.1f s, exits of kube-controller-manager %d\n", m.name, m.overlap().Seconds(), m.exits(cluster.KCM))
			m.alone()
			m.ended = true
		})
	}
}

// No election prevents two leaders where one is stopped for longer than its lease and continues. It ends when it has
// failed to renew the lease.
func TestALeaderThatIsStoppedForLongerThanItsLease(t *testing.T) {
	times := measuring(t)
	for _, w := range timings {
		t.Run(w.name, func(t *testing.T) {
			m := measure(t, w.name+", leader stopped", 1)
			all := m.along(w.along)
			m.through(all[:slices.IndexFunc(all, func(tr transition) bool { return tr.step.Stage.Name == stages.SwitchToExternal })])
			for range max(2, times/4) {
				m.halted(cluster.CCM, w.kcm+time.Second)
				m.halted(cluster.KCM, w.ccm+time.Second)
			}
			m.ended = true
		})
	}
}

// halted stops the leader until a manager of the other component leads, lets it continue, and requires that it ends soon.
func (m *measured) halted(next cluster.Component, most time.Duration) {
	m.Helper()
	leader, _ := m.caller()
	leader.Freeze()
	m.eventually(string(next)+" that calls AWS", func(context.Context) bool { by, _ := m.caller(); return by.Component == next })
	time.Sleep(rand.N(2 * time.Second))
	thawed := time.Now()
	leader.Thaw()
	m.eventually("the end of "+leader.Caller(), func(context.Context) bool { return !leader.Alive() })
	var two time.Duration
	for _, r := range m.reigns() {
		if r.Manager == leader && r.to.After(thawed) {
			two = r.to.Sub(thawed)
		}
	}
	fmt.Printf("handover %s: %s continues, two leaders %.1f s\n", m.name, leader.Component, two.Seconds())
	if two > most {
		m.Errorf("%s continued to call AWS for %s", leader.Component, two)
	}
	m.settled(next)
}
