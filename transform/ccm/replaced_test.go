// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func valueOf(t *testing.T, text string) any {
	t.Helper()
	return assert.Value(yamledit.ParseString("values.yaml", text))(t).Root().Value()
}

func TestValuesThatAnUpgradeReplacesAreNamedByTheirKeys(t *testing.T) {
	for _, c := range []struct {
		name             string
		has, gets, needs string // needs is has where it is ""
		target           transform.Target
		want             string
	}{
		{name: "no values", has: "null", gets: "args: [--v=2]"},
		{name: "the same", has: "args: [--v=2]", gets: "args: [--v=2]"},
		{name: "more values", has: "args: [--v=2]", gets: "{args: [--v=2, --a=b], image: {tag: v1.26.6}}"},
		{name: "a value that is dropped", has: "{resources: {limits: {memory: 1Gi}}}", gets: "args: []", want: "resources.limits.memory"},
		{name: "a value that changes", has: "dnsPolicy: Default", gets: "dnsPolicy: ClusterFirst", want: "dnsPolicy"},
		{name: "a mapping that becomes a scalar", has: "image: {tag: a, repository: b}", gets: "image: c", want: "image.repository, image.tag"},
		{name: "a null, which removes a value of the chart", has: "nodeSelector: {a: null}", gets: "nodeSelector: {}", want: "nodeSelector.a"},
		{name: "an empty mapping, which removes nothing", has: "resources: {}", gets: "args: []"},
		{name: "what the migration changes", has: "hostNetworking: false", gets: "hostNetworking: true", needs: "hostNetworking: true"},
		{name: "what the migration removes", has: "{args: [--enable-leader-migration=true, --mine=1]}", gets: "args: [--v=2]", needs: "args: [--mine=1]", want: "args --mine"},
		{name: "a flag that changes", has: "args: [--v=4]", gets: "args: [--v=2]", want: "args --v"},
		{name: "a flag in another spelling and order", has: "args: [--b, v=2]", gets: "args: [--v=2, --b=true]"},
		{name: "a flag of which the last one counts", has: "args: [--v=4, --v=2]", gets: "args: [--v=2]"},
		{name: "an argument that is no flag", has: "args: [hunter2]", gets: "args: []", want: "args"},
		{name: "a flag with its value after a space", has: "args: ['--token hunter2']", gets: "args: []", want: "args --token"},
		{name: "arguments that rke-lm adds", has: "args: [--enable-leader-migration=true, " + cloudConfigArg + ", " + migrationArg + "]", gets: "args: []"},
		{name: "a configuration of the operator's own", has: "args: [--cloud-config=/etc/mine.conf]", gets: "args: [" + cloudConfigArg + "]", want: "args --cloud-config"},
		{name: "an item of a list", has: "env: [{name: A, value: secret}, {name: B}]", gets: "env: [{name: B}]", want: "env"},
		{name: "a mount that rke-lm adds", has: "extraVolumes: [{name: " + cloudConfigMount.name + "}]", gets: "args: []"},
		{name: "a mount of the operator's own", has: "extraVolumes: [{name: mine}]", gets: "args: []", want: "extraVolumes"},
		{name: "an image of another minor", has: "image: {tag: v1.25.3}", gets: "image: {tag: v1.26.6}"},
		{name: "an image of another patch", has: "image: {tag: v1.26.3}", gets: "image: {tag: v1.26.6}", want: "image.tag"},
		{name: "an image that the operator has built", has: "image: {tag: mine}", gets: "image: {tag: v1.26.6}", want: "image.tag"},
		{name: "an image that the operator chooses now", has: "image: {tag: mine, repository: a}", gets: "image: {tag: v1.26.6, repository: b}", target: transform.Target{ImageTag: "v1.26.6", ImageRepository: "b"}},
		{name: "a mirror that a flag set in an earlier run", has: "image: {repository: a}", gets: "image: {tag: v1.26.6}", want: "image.repository"},
	} {
		if c.needs == "" {
			c.needs = c.has
		}
		u := Upgrade{valueOf(t, c.has), valueOf(t, c.gets), valueOf(t, c.needs)}
		assert.Equal(t, strings.Join(u.Replaced(c.target), ", "), c.want, c.name)
	}
}
