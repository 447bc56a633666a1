// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import "testing"

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
