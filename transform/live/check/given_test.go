// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// written lets arguments be written in a file from now on.
func (p *play) written(args ...string) *play {
	p.versions = p.versions.Written(Given{"cluster.yml", args})
	return p
}

// RKE1's manager is a container of docker, which no API shows.
func TestGivenArgumentsShowWhatAManagerWithoutAPodOwns(t *testing.T) {
	waiting := cloud("v1.26.6", flag, noRoutes)
	for _, c := range []struct {
		name string
		play *play
		want string
	}{
		{"without them it is unknown", newPlay().hold("cp_a", km).observe(10), "10 unknown"},
		{"in-tree", newPlay().written(providerAWS).hold("cp_a", km).observe(10), "10 kube"},
		{"external", newPlay().written(providerExternal).hold("cp_a", km).observe(10), "10 none"},
		{"with the flag, and the lease", newPlay().written(providerAWS, flag).hold("cp_a", km, mig).observe(10), "10 kube"},
		{"with the flag, and without the lease", newPlay().written(providerAWS, flag).hold("cp_a", km).observe(10), "10 none"},
		{"without an election nothing shows that it runs", newPlay().written(providerAWS, "--leader-elect=false").observe(10), "10 unknown"},
		{"who was there before a change has what was written before it", newPlay().written(providerAWS).hold("cp_a", km).observe(5).written(providerAWS, flag).observe(5), "10 kube"},
		{"who comes later has one of the two: here they differ", newPlay().written(providerAWS).hold("cp_a", km).observe(5).written(providerAWS, flag).observe(5).hold("cp_b", km).observe(5), "10 kube, 5 unknown"},
		{"by the lease it has the flag", newPlay().written(providerAWS).hold("cp_a", km).observe(5).written(providerAWS, flag).observe(5).hold("cp_b", km, mig).observe(5), "15 kube"},
		{"the switch: whoever comes owns nothing without the lease", newPlay(waiting).written(providerAWS, flag).hold("cp_a", km, mig).hold("one_b", cm).observe(5).written(providerExternal).observe(5).die(km, mig).observe(15).hold("cp_b", km).observe(2).hold("one_b", mig).observe(5), "24 kube, 3 none, 5 cloud"},
		{"what was written before the last two is on no machine any more", newPlay().written(providerAWS).written(providerAWS, flag).written(providerExternal).observe(1).hold("cp_b", km).observe(5), "6 none"},
		{"the pods that there are tell more", newPlay(kube(providerAWS)).written(providerExternal).hold("one_a", km).observe(5), "5 kube"},
	} {
		assert.Equal(t, c.play.summary(), c.want, c.name)
	}
}

func TestWhatIsUnknownSaysWhereItIsWritten(t *testing.T) {
	p := newPlay().written(providerAWS).observe(1).written(providerAWS, flag).hold("cp_b", km).observe(2)
	p.summary()
	why := p.got[len(p.got)-1].Unknown
	assert.True(t, strings.Contains(why, "cluster.yml before its last change") && strings.Contains(why, "or those of cluster.yml"), why)
}

// Rancher's object says what is on all machines, and what may be on some of them.
func TestVersionsOfAnObjectGoWhenNothingIsOpen(t *testing.T) {
	a, b, c := Given{"a", []string{"1"}}, Given{"b", []string{"2"}}, Given{"c", []string{"3"}}
	var v Versions
	for i, step := range []struct {
		applied Given
		open    []Given
		want    string
	}{
		{a, []Given{a}, "[1]"},
		{a, []Given{b}, "[1][2]"},
		{a, []Given{c}, "[1][2][3]"}, // b may be on machines that it reached
		{a, []Given{c, b}, "[1][2][3]"},
		{c, []Given{c}, "[3]"},
	} {
		v = v.Served(step.applied, step.open...)
		printed := ""
		for _, g := range v {
			printed += fmt.Sprint(g.Args)
		}
		assert.Equal(t, printed, step.want, i)
	}
}
