// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

func TestATokenIsOneWordWhereverItComesFrom(t *testing.T) {
	for given, want := range map[string]string{
		"token-abcde:x\r\n": "token-abcde:x", "\ufefftoken-abcde:x": "token-abcde:x", "kubeconfig-u-abcde:x": "kubeconfig-u-abcde:x", "ext/token-abcde:x": "ext/token-abcde:x",
		"Bearer token-abcde:hunter2": "", "token-abcde:hunter2\ntoken-fghij:hunter2": "", "“token-abcde:hunter2”": "",
	} {
		t.Setenv(TokenVariable, given)
		got, err := Source{}.token()
		assert.Truef(t, got == want && (err == nil) == (want != "") && (err == nil || !strings.Contains(err.Error(), "hunter2") && strings.Contains(err.Error(), TokenVariable)), "%q is %q: %v", given, got, err)
	}
}

// A run is longer than many a token lives.
func TestATokenThatIsRenewedInItsFileIsUsedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, expired, _, file := withExpired(t)
		renew(t, r, file)
		find(t, expired, "orchard")
	})
}

// A shell's <(command) can be read once.
func TestATokenFromAPipeIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := open(t)
		out, in, err := os.Pipe()
		assert.NilError(t, err)
		defer out.Close()
		in.WriteString(ranchertest.Token + "\n")
		in.Close()
		from := source(t, r)
		from.TokenFile = fmt.Sprintf("/dev/fd/%d", out.Fd())
		s, err := Open(from)
		if err != nil {
			t.Skip("this system has no /dev/fd: ", err)
		}
		find(t, s, "orchard")
	})
}

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
