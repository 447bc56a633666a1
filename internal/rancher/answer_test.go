// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

func TestARefusalComesWithTheWarningsOfTheServer(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		o := find(t, s, "orchard")
		r.Do(func() {
			r.Warning = "unknown field spec.rkeConfig.x"
			r.Refuse = func(map[string]any) string { return "spec: Invalid value" }
		})
		_, warnings, err := s.Patch(t.Context(), o, edit(t, o, external), nil, false)
		assert.Truef(t, rejected(err) && len(warnings) == 1 && warnings[0] == r.Warning, "%q %v", warnings, err)
	})
}

// Nothing is kept of a dry run, so there is nothing that is not known.
func TestADryRunIsNeverLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, f := range []ranchertest.Fault{{Status: 502}, {Status: 302, Location: "https://login.example.com"}, {Status: 200, Body: "<html>"}} {
			r, s := open(t)
			o := find(t, s, "orchard")
			r.Do(func() { patchFault(f)(r) })
			_, _, err := s.Patch(t.Context(), o, edit(t, o, external), nil, true)
			assert.Truef(t, err != nil && !lostAnswer(err) && (unreached(err) || failed(err)), "%d: %T %v", f.Status, err, err)
		}
	})
}

// A proxy whose server restarts has a page for that.
func TestAPageInThePlaceOfAnAnswerIsTriedAgain(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		o := find(t, s, "orchard")
		r.Do(func() { patchFault(ranchertest.Fault{Status: 200, Body: "<html>starting</html>", Lost: true})(r) })
		_, _, err := s.Patch(t.Context(), o, edit(t, o, external), nil, false)
		assert.Truef(t, err == nil && r.Count("PATCH") == 2, "%v %v", err, r.Requests)
	})
}
