// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// etcdLimit is the default of --max-request-bytes.
const etcdLimit = 1536 * 1024

// worst is a LeaderMigration over clusters with the longest names, of which each failed with a long message.
func worst(n int, message string) *work {
	w := newWork(&Manager{}, &v1alpha1.LeaderMigration{}, nil, func() {})
	long := strings.Repeat("x", 63)
	list := transition.Wave{Name: long}
	for i := range n {
		gap := 123456.7
		m := migrate.Member{
			Cluster: fmt.Sprintf("%s/%s%04d", long, long[4:], i), ID: "c-m-abcdefgh", Wave: long, State: transition.Failed, Stage: stages.EnableLeaderMigration, Since: time.Unix(1, 0), RolledBack: true,
			Err: errors.New(strings.Repeat(message, mostOfMessage)), Switch: &migrate.Owned{None: gap}, Watched: migrate.Owned{Two: gap},
		}
		for rule := range 40 {
			m.Findings = append(m.Findings, transform.Finding{Rule: fmt.Sprintf("a-rule-with-quite-a-long-name-%02d", rule)})
		}
		list.Clusters, w.members = append(list.Clusters, m.Cluster), append(w.members, m)
	}
	w.waves = []transition.Wave{list}
	return w
}

// Of a thousand clusters with the longest names, of which each failed with a long message, the status fits into
// etcd with room for the spec.
func TestAStatusFitsIntoEtcdHoweverItsClustersFail(t *testing.T) {
	for _, message := range []string{"é", "<", "\x01", "x\xff"} { // some have six bytes in JSON
		for _, n := range []int{1, 500, 1000} {
			w := worst(n, message)
			text, err := json.Marshal(w.status())
			assert.Truef(t, err == nil && len(text) <= etcdLimit*9/10, "%d clusters, %q: %d bytes, %v", n, message, len(text), err)
			assert.NilError(t, tooLarge(w.lm, w.waves))
			t.Logf("%d clusters: %d bytes", n, len(text))
		}
	}
}

// What is refused is more than what is ever written: of so many clusters the names alone, or of an object that is large
// before it has a status.
func TestClustersWhoseStatusWouldNotFitIntoEtcdAreNotSelected(t *testing.T) {
	fits := func(w *work) error { return tooLarge(w.lm, w.waves) }
	least := sort.Search(5000, func(n int) bool { return fits(worst(n, "x")) != nil })
	text, err := json.Marshal(worst(least-1, "<").status())
	assert.Truef(t, err == nil && least >= 1000 && least <= 2000 && len(text) <= etcdLimit, "%d clusters are refused, and one less has %d bytes, %v", least, len(text), err)
	assert.ErrorContains(t, fits(worst(least, "x")), fmt.Sprintf("its %d clusters, and etcd accepts", least))
	large := worst(1, "x")
	large.lm.Annotations = map[string]string{"notes": strings.Repeat("x", mostOfObject)}
	assert.True(t, fits(large) != nil, "an object that is as large as etcd accepts is selected for")
}
