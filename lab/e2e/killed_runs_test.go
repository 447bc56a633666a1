// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/report"
)

// A run that is killed where one stage ends and the next begins is continued by the same command.
func TestARunOverAClusterOfARancherThatIsKilledAtEveryStageIsResumed(t *testing.T) {
	t.Parallel()
	c := rke2Cluster(t)
	stop := c.busy()
	kills := c.killedAtStages("migrate")
	stop()
	c.served()
	if kills < 6 {
		t.Errorf("the run was killed at %d stages", kills)
	}
	c.unharmed(undisturbed(t).external)
	c.end("killed-at-stages")
}

// killedAtStages runs a verb until it is complete. Every stage that is announced kills the run, once.
func (c *managed) killedAtStages(verb string) (kills int) {
	c.Helper()
	at := map[string]bool{}
	for range 20 {
		code, _ := c.result(c.start(func(r *run, e report.RunEvent) {
			if e.Type == migrate.Staged && !at[e.Stage] {
				at[e.Stage] = true
				r.kill()
			}
		}, verb), 0, killed)
		if code == 0 {
			return len(at)
		}
	}
	c.Fatal("the run never came to its end")
	return 0
}

// unharmed requires that the cluster is as after an undisturbed run, that no node
// stayed cordoned, that no one shared the controllers, and that the audit log has every write.
func (c *managed) unharmed(want state) {
	c.Helper()
	c.is(want)
	if nodes := c.cordoned(); len(nodes) > 0 {
		c.Errorf("%v stayed cordoned", nodes)
	}
	c.neverTwo()
	c.audited()
}

// Runs are killed at moments that no one chose, forward and backward.
func TestRunsOverAClusterOfARancherThatAreKilledAtAnyMomentAreResumed(t *testing.T) {
	t.Parallel()
	number := 3
	if soaks() {
		number = 50
	}
	dice := rand.New(rand.NewPCG(seedOf(t), 0))
	c := rke2Cluster(t)
	stop := c.busy()
	kills := 0
	for kills < number {
		kills += c.killedAtRandom(dice, number-kills, "migrate")
		c.is(undisturbed(t).external)
		if kills < number {
			kills += c.killedAtRandom(dice, number-kills, "rollback")
			c.is(undisturbed(t).inTree)
		}
	}
	c.rke("migrate")
	stop()
	c.served()
	c.unharmed(undisturbed(t).external)
	c.end(fmt.Sprintf("killed-%d-times", kills))
}

// The same for RKE, where helm is killed together with the run that started it.
func TestRunsOverAnRKE1ClusterOfARancherThatAreKilledAreResumed(t *testing.T) {
	onlyInSoak(t)
	const number = 20
	dice := rand.New(rand.NewPCG(seedOf(t), 1))
	c := rke1Cluster(t)
	stop := c.busy()
	c.rke("migrate")
	want := c.state()
	kills := 0
	for kills < number {
		kills += c.killedAtRandom(dice, number-kills, "rollback", "--canonical")
		kills += c.killedAtRandom(dice, number-kills, "migrate")
	}
	stop()
	c.served()
	c.unharmed(want)
	c.end(fmt.Sprintf("killed-%d-times-rke1", kills))
}

// killedAtRandom runs a verb until it is complete, and kills it up to a number of times.
func (c *managed) killedAtRandom(dice *rand.Rand, most int, verb string, more ...string) (kills int) {
	c.Helper()
	for range 200 {
		r := c.start(nil, verb, more...)
		if kills < most {
			after := time.Duration(dice.Int64N(int64(40 * time.Second)))
			go func() {
				select {
				case <-r.ended:
				case <-time.After(after):
					r.kill()
				}
			}()
		}
		code, _ := c.result(r, 0, killed)
		if code == 0 {
			return kills
		}
		kills++
	}
	c.Fatal("the run never came to its end")
	return 0
}
