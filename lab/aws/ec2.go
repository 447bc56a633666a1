// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/xml"
	"fmt"
	"net/url"
	"slices"
)

var ec2Actions = map[string]action{
	"DescribeInstances":             {do: (*Fake).describeInstances},
	"DescribeSubnets":               {do: (*Fake).describeSubnets},
	"DescribeRouteTables":           {do: (*Fake).describeRouteTables},
	"DescribeAvailabilityZones":     {do: (*Fake).describeZones},
	"DescribeInstanceTopology":      {do: (*Fake).describeTopology},
	"DescribeSecurityGroups":        {do: (*Fake).describeGroups},
	"CreateSecurityGroup":           {write: true, target: "GroupName", do: (*Fake).createGroup},
	"DeleteSecurityGroup":           {write: true, target: "GroupId", do: (*Fake).deleteGroup},
	"AuthorizeSecurityGroupIngress": {write: true, target: "GroupId", do: (*Fake).authorize},
	"RevokeSecurityGroupIngress":    {write: true, target: "GroupId", do: (*Fake).revoke},
	"CreateTags":                    {write: true, target: "ResourceId.1", do: (*Fake).createTags},
}

// Instance is a machine.
type Instance struct {
	ID   string
	Name string // private DNS name, by which a node without provider ID is found
	IP   string
	Type string
}

// ProviderID returns what the provider calls the machine in a cluster.
func (i Instance) ProviderID() string { return "aws:///" + Zone + "/" + i.ID }

// Launch adds a machine. Its number makes its ID and its address.
func (f *Fake) Launch(number int) Instance {
	ip := fmt.Sprintf("10.20.%d.%d", number/250, number%250+1)
	i := Instance{
		ID: fmt.Sprintf("i-%017x", number), IP: ip, Type: "m5.large",
		Name: fmt.Sprintf("ip-10-20-%d-%d.%s.compute.internal", number/250, number%250+1, Region),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.instances = append(f.instances, i)
	return i
}

type (
	tagXML struct {
		Key   string `xml:"key"`
		Value string `xml:"value"`
	}
	instanceXML struct {
		ID        string     `xml:"instanceId"`
		State     string     `xml:"instanceState>name"`
		StateCode int        `xml:"instanceState>code"`
		Name      string     `xml:"privateDnsName"`
		IP        string     `xml:"privateIpAddress"`
		Type      string     `xml:"instanceType"`
		Zone      string     `xml:"placement>availabilityZone"`
		VPC       string     `xml:"vpcId"`
		Subnet    string     `xml:"subnetId"`
		Groups    []groupRef `xml:"groupSet>item"`
		Cards     []cardXML  `xml:"networkInterfaceSet>item"`
		Tags      []tagXML   `xml:"tagSet>item"`
	}
	cardXML struct {
		Status string   `xml:"status"`
		IPs    []string `xml:"privateIpAddressesSet>item>privateIpAddress"`
	}
	groupRef struct {
		ID string `xml:"groupId"`
	}
	instancesXML struct {
		XMLName   xml.Name      `xml:"body"`
		Instances []instanceXML `xml:"reservationSet>item>instancesSet>item"`
	}
)

// describeInstances finds by ID and by the filters that providers use.
func (f *Fake) describeInstances(form url.Values) (any, error) {
	ids, want := numbered(form, "InstanceId."), filters(form)
	body := instancesXML{}
	for _, i := range f.instances {
		if len(ids) > 0 && !slices.Contains(ids, i.ID) {
			continue
		}
		if names, set := want["private-dns-name"]; set && !slices.Contains(names, i.Name) {
			continue
		}
		body.Instances = append(body.Instances, f.describe(i))
	}
	if len(ids) > len(body.Instances) {
		return nil, &fault{"InvalidInstanceID.NotFound", "one of the instances does not exist"}
	}
	return body, nil
}

func (f *Fake) describe(i Instance) instanceXML {
	return instanceXML{
		ID: i.ID, State: "running", StateCode: 16, Name: i.Name, IP: i.IP, Type: i.Type, Zone: Zone, VPC: VPC, Subnet: Subnet,
		Groups: []groupRef{{NodeGroup}}, Cards: []cardXML{{Status: "in-use", IPs: []string{i.IP}}}, Tags: tagList(f.owned()),
	}
}

func tagList(tags map[string]string) []tagXML {
	var list []tagXML
	for k, v := range tags {
		list = append(list, tagXML{k, v})
	}
	return list
}

// describeSubnets returns the one subnet.
func (f *Fake) describeSubnets(url.Values) (any, error) {
	type subnet struct {
		XMLName xml.Name `xml:"body"`
		ID      string   `xml:"subnetSet>item>subnetId"`
		VPC     string   `xml:"subnetSet>item>vpcId"`
		Zone    string   `xml:"subnetSet>item>availabilityZone"`
		State   string   `xml:"subnetSet>item>state"`
		Tags    []tagXML `xml:"subnetSet>item>tagSet>item"`
	}
	return subnet{ID: Subnet, VPC: VPC, Zone: Zone, State: "available", Tags: tagList(f.owned())}, nil
}

// describeRouteTables returns the main table; its gateway makes the subnet a public one.
func (f *Fake) describeRouteTables(url.Values) (any, error) {
	type table struct {
		XMLName     xml.Name `xml:"body"`
		ID          string   `xml:"routeTableSet>item>routeTableId"`
		VPC         string   `xml:"routeTableSet>item>vpcId"`
		Main        bool     `xml:"routeTableSet>item>associationSet>item>main"`
		Gateway     string   `xml:"routeTableSet>item>routeSet>item>gatewayId"`
		Destination string   `xml:"routeTableSet>item>routeSet>item>destinationCidrBlock"`
	}
	return table{ID: "rtb-00000000000000001", VPC: VPC, Main: true, Gateway: "igw-00000000000000001", Destination: "0.0.0.0/0"}, nil
}

// describeTopology returns nothing, as for instances of most types.
func (f *Fake) describeTopology(url.Values) (any, error) {
	type topology struct {
		XMLName xml.Name   `xml:"body"`
		Nodes   []struct{} `xml:"instanceSet>item"`
	}
	return topology{}, nil
}

func (f *Fake) describeZones(url.Values) (any, error) {
	type zone struct {
		XMLName xml.Name `xml:"body"`
		Name    string   `xml:"availabilityZoneInfo>item>zoneName"`
		ID      string   `xml:"availabilityZoneInfo>item>zoneId"`
		Type    string   `xml:"availabilityZoneInfo>item>zoneType"`
	}
	return zone{Name: Zone, ID: "euw1-az1", Type: "availability-zone"}, nil
}
