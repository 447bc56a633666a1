// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestWorkloadsThatAreAManagerOfAWS(t *testing.T) {
	const head = "spec: {template: {spec: {containers: [{image: proxy}, "
	for _, c := range []struct {
		name, text     string
		found, migrate bool
	}{
		{"by the image", "kind: DaemonSet\n" + head + "{image: 'registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.0'}]}}}", true, false},
		{"by an image of one's own", "kind: Deployment\n" + head + "{image: r.example.com/aws-cloud-controller-manager}]}}}", true, false},
		{"by the provider", "kind: DaemonSet\n" + head + "{image: r.example.com/cloud-controller-manager, args: [--cloud-provider=aws]}]}}}", true, false},
		{"with the flag", "kind: DaemonSet\n" + head + "{image: aws-cloud-controller-manager, args: [--enable-leader-migration]}]}}}", true, true},
		{"with the flag in its command", "kind: DaemonSet\n" + head + "{image: aws-cloud-controller-manager, command: [/bin/ccm, --enable-leader-migration=true]}]}}}", true, true},
		{"with the flag turned off", "kind: DaemonSet\n" + head + "{image: aws-cloud-controller-manager, args: [--enable-leader-migration=false]}]}}}", true, false},
		{"of another provider", "kind: DaemonSet\n" + head + "{image: 'aws.example.com/cloud-controller-manager', args: [--cloud-provider=openstack]}]}}}", false, false},
		{"with a misspelt provider", "kind: DaemonSet\n" + head + "{image: r.example.com/cloud-controller-manager, args: [--cloud-provider=AWS]}]}}}", true, false},
		{"mirrored to ECR", "kind: DaemonSet\n" + head + "{image: '0123456789.dkr.ecr.eu-west-1.amazonaws.com/k8s/cloud-controller-manager:v1.26.6'}]}}}", true, false},
		{"another provider's in ECR", "kind: DaemonSet\n" + head + "{image: '0123456789.dkr.ecr.eu-west-1.amazonaws.com/k8s/openstack-cloud-controller-manager:v1.26.4'}]}}}", false, false},
		{"by its digest", "kind: DaemonSet\n" + head + "{image: 'r.example.com/aws-cloud-controller-manager@sha256:1f2e3d'}]}}}", true, false},
		{"another program", "kind: DaemonSet\n" + head + "{image: provider-aws/ebs-csi-driver}]}}}", false, false},
		{"another kind", "kind: Job\n" + head + "{image: provider-aws/cloud-controller-manager}]}}}", false, false},
		{"nothing", "kind: DaemonSet\n", false, false},
	} {
		empty := assert.Value(yamledit.ParseString("m.yaml", ""))(t)
		doc := assert.Value(yamledit.ParseString("m.yaml", c.text))(t)
		w, found := FindWorkload([]*yamledit.Document{empty, doc})
		assert.Truef(t, found == c.found && w.Migrates() == c.migrate && (!found || w.Index == 1), "%s: found %v at %d, migrates %v", c.name, found, w.Index, w.Migrates())
	}
}
