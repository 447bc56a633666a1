// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// account is a fake that ends with the test.
func account(t *testing.T) *Fake {
	t.Helper()
	f := assert.Value(Start("lab"))(t)
	t.Cleanup(f.Stop)
	return f
}

// call sends a request in the query protocol and returns status and body.
func call(t *testing.T, f *Fake, path string, form ...string) (int, string) {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(form); i += 2 {
		values.Set(form[i], form[i+1])
	}
	answer := assert.Value(http.PostForm(f.url+path, values))(t)
	defer answer.Body.Close()
	body := assert.Value(io.ReadAll(answer.Body))(t)
	if err := xml.Unmarshal(body, new(struct{ XMLName xml.Name })); err != nil {
		t.Errorf("%s is not XML: %v\n%s", path, err, body)
	}
	return answer.StatusCode, string(body)
}

// must fails the test unless the answer holds a text.
func must(t *testing.T, f *Fake, want, path string, form ...string) {
	t.Helper()
	if _, body := call(t, f, path, form...); !strings.Contains(body, want) {
		t.Errorf("%s %v: %q is not in\n%s", path, form, want, body)
	}
}

func TestTheLogSaysWhoWroteWhat(t *testing.T) {
	f := account(t)
	call(t, f, "/one/ec2", "Action", "DescribeSubnets")
	call(t, f, "/two/elb", "Action", "DeleteLoadBalancer", "LoadBalancerName", "a")
	call(t, f, "/three/elb", "Action", "NoSuchThing")
	calls := f.Calls()
	if len(calls) != 3 || calls[0].Caller != "one" || calls[0].Write || calls[2].Action != "NoSuchThing" {
		t.Error(calls)
	}
	writes := f.Writes()
	if len(writes) != 1 || writes[0].Caller != "two" || writes[0].Action != "DeleteLoadBalancer" || writes[0].Target != "a" || writes[0].Time.IsZero() {
		t.Error(writes)
	}
}

func TestAnUnknownActionIsAnErrorOfTheService(t *testing.T) {
	f := account(t)
	for path, want := range map[string]string{"/a/ec2": "<Response><Errors><Error><Code>InvalidAction</Code>", "/a/elb": "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidAction</Code>"} {
		if status, body := call(t, f, path, "Action", "Nothing"); status != http.StatusBadRequest || !strings.HasPrefix(body, want) {
			t.Errorf("%d %s", status, body)
		}
	}
}

func TestInstancesAreFoundByIDAndByName(t *testing.T) {
	f := account(t)
	a, b := f.Launch(1), f.Launch(300)
	must(t, f, a.ID, "/x/ec2", "Action", "DescribeInstances", "InstanceId.1", a.ID)
	must(t, f, b.ID, "/x/ec2", "Action", "DescribeInstances", "Filter.1.Name", "private-dns-name", "Filter.1.Value.1", b.Name)
	if _, body := call(t, f, "/x/ec2", "Action", "DescribeInstances", "InstanceId.1", a.ID); strings.Contains(body, b.ID) {
		t.Error("an instance that was not asked for:", body)
	}
	must(t, f, "InvalidInstanceID.NotFound", "/x/ec2", "Action", "DescribeInstances", "InstanceId.1", "i-0")
}

func TestALoadBalancerLives(t *testing.T) {
	f := account(t)
	must(t, f, "LoadBalancerNotFound", "/x/elb", "Action", "DescribeLoadBalancers", "LoadBalancerNames.member.1", "web")
	must(t, f, "<DNSName>web.", "/x/elb", "Action", "CreateLoadBalancer", "LoadBalancerName", "web", "Listeners.member.1.Protocol", "tcp", "Listeners.member.1.LoadBalancerPort", "80", "Listeners.member.1.InstancePort", "30080")
	must(t, f, "<Target>TCP:30080</Target>", "/x/elb", "Action", "DescribeLoadBalancers", "LoadBalancerNames.member.1", "web")
	call(t, f, "/x/elb", "Action", "RegisterInstancesWithLoadBalancer", "LoadBalancerName", "web", "Instances.member.1.InstanceId", "i-1", "Instances.member.2.InstanceId", "i-2")
	call(t, f, "/x/elb", "Action", "DeregisterInstancesFromLoadBalancer", "LoadBalancerName", "web", "Instances.member.1.InstanceId", "i-1")
	assert.Equal(t, f.Balancers()["web"], 1, "instances of the load balancer")
	call(t, f, "/x/elb", "Action", "DeleteLoadBalancer", "LoadBalancerName", "web")
	assert.Equal(t, len(f.Balancers()), 0, "it is still there")
}

// A manager asks for the groups of a load balancer, and deletes those that it gets.
func TestOnlyTheSecurityGroupsOfALoadBalancerAreDeletedWithIt(t *testing.T) {
	f := account(t)
	must(t, f, "sg-", "/x/ec2", "Action", "CreateSecurityGroup", "GroupName", "lb", "GroupDescription", "of a load balancer")
	if _, body := call(t, f, "/x/ec2", "Action", "DescribeSecurityGroups", "Filter.1.Name", "group-id", "Filter.1.Value.1", "sg-other"); strings.Contains(body, NodeGroup) {
		t.Error(body)
	}
	must(t, f, "DependencyViolation", "/x/ec2", "Action", "DeleteSecurityGroup", "GroupId", NodeGroup)
}

func TestASecurityGroupKeepsItsRules(t *testing.T) {
	f := account(t)
	rule := []string{"GroupId", NodeGroup, "IpPermissions.1.IpProtocol", "-1", "IpPermissions.1.Groups.1.GroupId", "sg-lb"}
	with := func(action string) []string { return append([]string{"Action", action}, rule...) }
	bySource := []string{"Action", "DescribeSecurityGroups", "Filter.1.Name", "ip-permission.group-id", "Filter.1.Value.1", "sg-lb"}
	must(t, f, "<return>true</return>", "/x/ec2", with("AuthorizeSecurityGroupIngress")...)
	must(t, f, "InvalidPermission.Duplicate", "/x/ec2", with("AuthorizeSecurityGroupIngress")...)
	must(t, f, NodeGroup, "/x/ec2", bySource...)
	must(t, f, "<return>true</return>", "/x/ec2", with("RevokeSecurityGroupIngress")...)
	if _, body := call(t, f, "/x/ec2", bySource...); strings.Contains(body, NodeGroup) {
		t.Error("the rule is still there:", body)
	}
}

// A provider compares the rules that are there with those that it wants: an empty source makes another rule.
func TestARuleHasNoEmptySource(t *testing.T) {
	f := account(t)
	call(t, f, "/x/ec2", "Action", "AuthorizeSecurityGroupIngress", "GroupId", NodeGroup, "IpPermissions.1.IpProtocol", "tcp",
		"IpPermissions.1.FromPort", "80", "IpPermissions.1.ToPort", "80", "IpPermissions.1.IpRanges.1.CidrIp", "0.0.0.0/0")
	_, body := call(t, f, "/x/ec2", "Action", "DescribeSecurityGroups", "GroupId.1", NodeGroup)
	if !strings.Contains(body, "<cidrIp>0.0.0.0/0</cidrIp>") || strings.Contains(body, "<item></item>") {
		t.Error(body)
	}
}

func TestEveryInstanceHasItsOwnMetadata(t *testing.T) {
	f := account(t)
	for _, i := range []Instance{f.Launch(1), f.Launch(2)} {
		endpoint := assert.Value(f.Metadata(i))(t)
		answer := assert.Value(http.Get(endpoint + "/latest/meta-data/instance-id"))(t)
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || string(body) != i.ID {
			t.Errorf("%s, want %s (%v)", body, i.ID, err)
		}
	}
}
