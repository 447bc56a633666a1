// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestJudgeFindsWhatHidesAnOwner(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     string // in the message, "" for none
		line     int
	}{
		{"nothing", "- v=2\n", "", 0},
		{"the defaults, spelt out", "- leader-elect=true\n- leader-elect-lease-duration=15s\n- leader-elect-renew-deadline=10s\n- leader-elect-retry-period=2s\n- leader-elect-resource-name=m\n- leader-elect-resource-namespace=kube-system\n- leader-elect-resource-lock=leases\n", "", 0},
		{"no election", "- v=2\n- leader-elect=false\n", "without leader election there is no leader migration", 2},
		{"a lease of another name", "- leader-elect-resource-name=other\n", "the main lease of m is not kube-system/m", 1},
		{"a lease of another namespace", "- leader-elect-resource-namespace=default\n", "the main lease of m is not kube-system/m", 1},
		{"a lock that is no lease", "- leader-elect-resource-lock=endpoints\n", "is no lease", 1},
		{"a lock that is a lease as well", "- leader-elect-resource-lock=endpointsleases\n", "", 0},
		{"a lease that ends before its renewal", "- leader-elect-lease-duration=8s\n", "ends before its renewal", 1},
		{"a renewal without a second try", "- leader-elect-retry-period=9s\n", "ends before its second try", 1},
		{"a lease that is too short to be followed", "- leader-elect-lease-duration=4s\n- leader-elect-renew-deadline=3s\n- leader-elect-retry-period=1s\n", "a living owner looks dead", 3},
		{"a lease that is too long", "- leader-elect-lease-duration=2m\n", "a living owner looks dead", 1},
		{"a timing that is none", "- leader-elect-lease-duration=soon\n", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := yamledit.ParseString("in.yaml", c.in)
			if err != nil {
				t.Fatal(err)
			}
			found := Judge(args.Place(d.Root()), "m", transform.FindingAt)
			switch {
			case c.want == "" && len(found) == 0:
			case c.want == "" || len(found) != 1 || !strings.Contains(found[0].Message, c.want) || found[0].Line != c.line || found[0].Fix == "":
				t.Errorf("%+v", found)
			}
		})
	}
}
