// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"strings"
	"testing"
)

func TestARefusedActionChangesNothingAndIsLogged(t *testing.T) {
	f := account(t)
	create := []string{"Action", "CreateLoadBalancer", "LoadBalancerName", "a", "Listeners.member.1.Protocol", "TCP"}
	f.Refuse("CreateLoadBalancer", "AccessDenied", "not authorized to perform: elasticloadbalancing:CreateLoadBalancer")
	must(t, f, "<Code>AccessDenied</Code>", "/ccm/elb", create...)
	if len(f.Balancers()) != 0 || len(f.Writes()) != 1 {
		t.Errorf("%v %v", f.Balancers(), f.Writes())
	}
	f.Refuse("CreateLoadBalancer", "", "")
	must(t, f, "<DNSName>a.", "/ccm/elb", create...)
}

func TestInstancesMayHaveASecondTaggedGroup(t *testing.T) {
	f := account(t)
	f.Launch(1)
	for _, also := range []bool{true, false} {
		f.TagAnother(also)
		_, groups := call(t, f, "/ccm/ec2", "Action", "DescribeSecurityGroups")
		_, instances := call(t, f, "/ccm/ec2", "Action", "DescribeInstances")
		if strings.Contains(groups, "sg-00000000000000002") != also || strings.Contains(instances, "sg-00000000000000002") != also {
			t.Errorf("%t: %s %s", also, groups, instances)
		}
	}
}
