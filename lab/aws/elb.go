// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/xml"
	"fmt"
	"net/url"
	"slices"
	"strconv"
)

var elbActions = map[string]action{
	"DescribeLoadBalancers":               {do: (*Fake).describeBalancers},
	"DescribeLoadBalancerAttributes":      {do: (*Fake).describeAttributes},
	"CreateLoadBalancer":                  {write: true, target: nameKey, do: (*Fake).createBalancer},
	"DeleteLoadBalancer":                  {write: true, target: nameKey, do: (*Fake).deleteBalancer},
	"ModifyLoadBalancerAttributes":        {write: true, target: nameKey, do: (*Fake).modifyAttributes},
	"ConfigureHealthCheck":                {write: true, target: nameKey, do: (*Fake).configureCheck},
	"RegisterInstancesWithLoadBalancer":   {write: true, target: nameKey, do: (*Fake).register},
	"DeregisterInstancesFromLoadBalancer": {write: true, target: nameKey, do: (*Fake).deregister},
	"AddTags":                             {write: true, target: "LoadBalancerNames.member.1", do: (*Fake).addTags},
}

const nameKey = "LoadBalancerName"

// balancer is a classic load balancer.
type balancer struct {
	name      string
	listeners []listenerXML
	groups    []string
	check     checkXML
	instances []string
	idle      int
	drain     bool
}

type (
	listenerXML struct {
		Protocol         string `xml:"Protocol"`
		Port             int    `xml:"LoadBalancerPort"`
		InstanceProtocol string `xml:"InstanceProtocol"`
		InstancePort     int    `xml:"InstancePort"`
	}
	checkXML struct {
		Target    string `xml:"Target"`
		Interval  string `xml:"Interval"`
		Timeout   string `xml:"Timeout"`
		Unhealthy string `xml:"UnhealthyThreshold"`
		Healthy   string `xml:"HealthyThreshold"`
	}
	instanceRef struct {
		ID string `xml:"InstanceId"`
	}
	listenerDescription struct {
		Listener listenerXML `xml:"Listener"`
	}
	balancerXML struct {
		Name      string                `xml:"LoadBalancerName"`
		DNS       string                `xml:"DNSName"`
		VPC       string                `xml:"VPCId"`
		Scheme    string                `xml:"Scheme"`
		Subnets   []string              `xml:"Subnets>member"`
		Zones     []string              `xml:"AvailabilityZones>member"`
		Groups    []string              `xml:"SecurityGroups>member"`
		Listeners []listenerDescription `xml:"ListenerDescriptions>member"`
		Instances []instanceRef         `xml:"Instances>member"`
		Check     checkXML              `xml:"HealthCheck"`
	}
)

func dns(name string) string { return name + "." + Region + ".elb.amazonaws.com" }

func (b *balancer) xml() balancerXML {
	x := balancerXML{
		Name: b.name, DNS: dns(b.name), VPC: VPC, Scheme: "internet-facing", Subnets: []string{Subnet}, Zones: []string{Zone},
		Groups: b.groups, Check: b.check,
	}
	for _, l := range b.listeners {
		x.Listeners = append(x.Listeners, listenerDescription{l})
	}
	for _, id := range b.instances {
		x.Instances = append(x.Instances, instanceRef{id})
	}
	return x
}

func (f *Fake) describeBalancers(form url.Values) (any, error) {
	type described struct {
		XMLName   xml.Name      `xml:"body"`
		Balancers []balancerXML `xml:"LoadBalancerDescriptions>member"`
	}
	body := described{}
	for _, name := range numbered(form, "LoadBalancerNames.member.") {
		b, err := f.balancer(name)
		if err != nil {
			return nil, err
		}
		body.Balancers = append(body.Balancers, b.xml())
	}
	return body, nil
}

func (f *Fake) balancer(name string) (*balancer, error) {
	if b, ok := f.balancers[name]; ok {
		return b, nil
	}
	return nil, &fault{"LoadBalancerNotFound", "there is no load balancer " + name}
}

// createBalancer gives it the health check that ELB gives a new one; a provider relies on there being one.
func (f *Fake) createBalancer(form url.Values) (any, error) {
	type created struct {
		XMLName xml.Name `xml:"body"`
		DNS     string   `xml:"DNSName"`
	}
	b := &balancer{name: form.Get(nameKey), groups: numbered(form, "SecurityGroups.member."), idle: 60, drain: false}
	for i := 1; form.Has(fmt.Sprintf("Listeners.member.%d.Protocol", i)); i++ {
		at := fmt.Sprintf("Listeners.member.%d.", i)
		b.listeners = append(b.listeners, listenerXML{
			Protocol: form.Get(at + "Protocol"), Port: number(form.Get(at + "LoadBalancerPort")),
			InstanceProtocol: form.Get(at + "InstanceProtocol"), InstancePort: number(form.Get(at + "InstancePort")),
		})
	}
	if len(b.listeners) == 0 {
		return nil, &fault{"ValidationError", "a load balancer needs a listener"}
	}
	b.check = checkXML{Target: fmt.Sprintf("TCP:%d", b.listeners[0].InstancePort), Interval: "30", Timeout: "5", Unhealthy: "2", Healthy: "10"}
	f.balancers[b.name] = b
	return created{DNS: dns(b.name)}, nil
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

type nothing struct {
	XMLName xml.Name `xml:"body"`
}

// deleteBalancer succeeds for one that is not there, as ELB's does.
func (f *Fake) deleteBalancer(form url.Values) (any, error) {
	delete(f.balancers, form.Get(nameKey))
	return nothing{}, nil
}

func (f *Fake) describeAttributes(form url.Values) (any, error) {
	type attributes struct {
		XMLName xml.Name `xml:"body"`
		Cross   bool     `xml:"LoadBalancerAttributes>CrossZoneLoadBalancing>Enabled"`
		Log     bool     `xml:"LoadBalancerAttributes>AccessLog>Enabled"`
		Drain   bool     `xml:"LoadBalancerAttributes>ConnectionDraining>Enabled"`
		Idle    int      `xml:"LoadBalancerAttributes>ConnectionSettings>IdleTimeout"`
	}
	b, err := f.balancer(form.Get(nameKey))
	if err != nil {
		return nil, err
	}
	return attributes{Drain: b.drain, Idle: b.idle}, nil
}

func (f *Fake) modifyAttributes(form url.Values) (any, error) {
	b, err := f.balancer(form.Get(nameKey))
	if err != nil {
		return nil, err
	}
	b.drain = form.Get("LoadBalancerAttributes.ConnectionDraining.Enabled") == "true"
	if idle := number(form.Get("LoadBalancerAttributes.ConnectionSettings.IdleTimeout")); idle > 0 {
		b.idle = idle
	}
	return nothing{}, nil
}

func (f *Fake) configureCheck(form url.Values) (any, error) {
	b, err := f.balancer(form.Get(nameKey))
	if err != nil {
		return nil, err
	}
	const at = "HealthCheck."
	b.check = checkXML{
		Target: form.Get(at + "Target"), Interval: form.Get(at + "Interval"), Timeout: form.Get(at + "Timeout"),
		Unhealthy: form.Get(at + "UnhealthyThreshold"), Healthy: form.Get(at + "HealthyThreshold"),
	}
	return nothing{}, nil
}

func (f *Fake) register(form url.Values) (any, error) {
	return f.members(form, func(b *balancer, id string) {
		if !slices.Contains(b.instances, id) {
			b.instances = append(b.instances, id)
		}
	})
}

func (f *Fake) deregister(form url.Values) (any, error) {
	return f.members(form, func(b *balancer, id string) {
		b.instances = slices.DeleteFunc(b.instances, func(o string) bool { return o == id })
	})
}

// members changes which instances a load balancer has.
func (f *Fake) members(form url.Values, change func(*balancer, string)) (any, error) {
	b, err := f.balancer(form.Get(nameKey))
	if err != nil {
		return nil, err
	}
	for i := 1; form.Has(fmt.Sprintf("Instances.member.%d.InstanceId", i)); i++ {
		change(b, form.Get(fmt.Sprintf("Instances.member.%d.InstanceId", i)))
	}
	return nothing{}, nil
}

// addTags accepts tags of load balancers that are there; nothing reads them.
func (f *Fake) addTags(form url.Values) (any, error) {
	_, err := f.balancer(form.Get("LoadBalancerNames.member.1"))
	return nothing{}, err
}

// Balancers returns the names of all load balancers, sorted, with the number of instances after each.
func (f *Fake) Balancers() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]int{}
	for name, b := range f.balancers {
		all[name] = len(b.instances)
	}
	return all
}
