// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// lookalikes has a match for every shape with a quick look.
var lookalikes = []string{
	"AKIAQ0000ZQ0000ZFAKE", "ASIAQ0000ZQ0000ZFAKE", "AGPAQ0000ZQ0000ZFAKE", "AIDAQ0000ZQ0000ZFAKE", "AROAQ0000ZQ0000ZFAKE",
	strings.Repeat("Q0z/+", 8), strings.Repeat("Q0z/+", 8) + "==",
	"token-q0000:" + strings.Repeat("q0", 10), "kubeconfig-u-1-q0000:" + strings.Repeat("q0", 10),
	"eyJQ0000z00.Q0000z00.Q", "K10" + strings.Repeat("q0", 8),
	"ghp_" + strings.Repeat("q0", 8), "gho_" + strings.Repeat("q0", 8), "ghu_" + strings.Repeat("q0", 8), "ghs_" + strings.Repeat("q0", 8),
	"ghr_" + strings.Repeat("q0", 8), "github_pat_" + strings.Repeat("q0", 8), "glpat-" + strings.Repeat("q0", 8), "xoxb-" + strings.Repeat("q0", 8),
	"Bearer q0000z00", "BASIC  q0000z00", "Authorization: Token q0000z00",
}

func TestAQuickLookMissesNoSecret(t *testing.T) {
	const alphabet = "aZ09 -_.:/+=\n"
	r := rand.New(rand.NewPCG(1, 2))
	seen := make([]int, len(known))
	look := func(text string) {
		for i, s := range known {
			if s.near == nil || !s.has.MatchString(text) {
				continue
			}
			seen[i]++
			if !s.near([]byte(text)) {
				t.Errorf("%q is missed", text)
			}
		}
	}
	for _, text := range lookalikes {
		look(text)
		for range 200 {
			changed := []byte("x: " + text + "\n")
			for range 1 + r.IntN(3) {
				changed[r.IntN(len(changed))] = alphabet[r.IntN(len(alphabet))]
			}
			look(string(changed))
		}
	}
	for i, n := range seen {
		if known[i].near != nil && n == 0 {
			t.Errorf("nothing that %s matches was tried", known[i].has)
		}
	}
}
