// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/waves"
)

// etcdLimit is the default of --max-request-bytes.
const etcdLimit = 1536 * 1024

// Of a thousand clusters with the longest names, of which each failed with a long message, the status fits into
// etcd with room for the spec.
func TestAStatusFitsIntoEtcdHoweverItsClustersFail(t *testing.T) {
	for _, n := range []int{1, 500, 1000} {
		w := newWork(&Manager{}, &v1alpha1.LeaderMigration{}, func() {})
		long := strings.Repeat("x", 63)
		list := waves.Wave{Name: long}
		for i := range n {
			gap := 123456.7
			m := migrate.Member{
				Cluster: fmt.Sprintf("%s/%s%04d", long, long[4:], i), Wave: long, State: waves.Failed, Stage: stages.EnableLeaderMigration, Since: time.Unix(1, 0), RolledBack: true,
				Err: errors.New(strings.Repeat("é", mostOfMessage)), Switch: &migrate.Owned{None: gap}, Watched: migrate.Owned{Two: gap},
			}
			for rule := range 40 {
				m.Findings = append(m.Findings, transform.Finding{Rule: fmt.Sprintf("a-rule-with-quite-a-long-name-%02d", rule)})
			}
			list.Clusters, w.members = append(list.Clusters, m.Cluster), append(w.members, m)
			w.ids[m.Cluster] = "c-m-abcdefgh"
		}
		w.waves = []waves.Wave{list}
		text, err := json.Marshal(w.status())
		if err != nil || len(text) > etcdLimit*9/10 {
			t.Errorf("%d clusters: %d bytes, %v", n, len(text), err)
		}
		t.Logf("%d clusters: %d bytes", n, len(text))
	}
}
