// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"math/rand/v2"
	"slices"
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
	"name: A_TOKEN\n  value: q", "https://u:q0@example.com --to x", "v --token q0\n--password 'q0' --v --secret z",
}

func TestAQuickLookMissesNoSecret(t *testing.T) {
	const alphabet = "aZ09 -_.:/+=\n"
	r := rand.New(rand.NewPCG(1, 2))
	seen := make([]int, len(known))
	look := func(text string) {
		for i, s := range known {
			want := s.has.FindAllSubmatchIndex([]byte(text), -1)
			seen[i] += len(want)
			if got := s.find([]byte(text)); !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("%q: %v instead of %v", text, got, want)
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
		if n == 0 && known[i].where != nil {
			t.Errorf("nothing that %s matches was tried", known[i].has)
		}
	}
}
