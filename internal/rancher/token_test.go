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
