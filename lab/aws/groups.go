// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/xml"
	"fmt"
	"maps"
	"net/url"
	"slices"
)

// group is a security group.
type group struct {
	id, name, description string
	tags                  map[string]string
	rules                 []rule
}

// rule lets one source in.
type rule struct{ protocol, from, to, cidr, group string }

type (
	groupXML struct {
		ID          string    `xml:"groupId"`
		Name        string    `xml:"groupName"`
		Description string    `xml:"groupDescription"`
		VPC         string    `xml:"vpcId"`
		Rules       []ruleXML `xml:"ipPermissions>item"`
		Tags        []tagXML  `xml:"tagSet>item"`
	}
	ruleXML struct {
		Protocol string     `xml:"ipProtocol"`
		From     string     `xml:"fromPort,omitempty"`
		To       string     `xml:"toPort,omitempty"`
		Groups   []groupRef `xml:"groups>item"`
		Ranges   []rangeXML `xml:"ipRanges>item"`
	}
	rangeXML struct {
		CIDR string `xml:"cidrIp"`
	}
	groupsXML struct {
		XMLName xml.Name   `xml:"body"`
		Groups  []groupXML `xml:"securityGroupInfo>item"`
	}
)

// describeGroups finds by ID and by the filters that providers use.
func (f *Fake) describeGroups(form url.Values) (any, error) {
	ids, want := numbered(form, "GroupId."), filters(form)
	body := groupsXML{}
	for _, g := range f.groups {
		if len(ids) > 0 && !slices.Contains(ids, g.id) {
			continue
		}
		if ids, set := want["group-id"]; set && !slices.Contains(ids, g.id) {
			continue
		}
		if names, set := want["group-name"]; set && !slices.Contains(names, g.name) {
			continue
		}
		if sources, set := want["ip-permission.group-id"]; set && !g.admits(sources) {
			continue
		}
		body.Groups = append(body.Groups, g.xml())
	}
	return body, nil
}

// admits reports whether members of one of the groups get in.
func (g *group) admits(groups []string) bool {
	return slices.ContainsFunc(g.rules, func(r rule) bool { return slices.Contains(groups, r.group) })
}

func (g *group) xml() groupXML {
	x := groupXML{ID: g.id, Name: g.name, Description: g.description, VPC: VPC, Tags: tagList(g.tags)}
	for _, r := range g.rules {
		one := ruleXML{Protocol: r.protocol, From: r.from, To: r.to}
		if r.group != "" {
			one.Groups = []groupRef{{r.group}}
		}
		if r.cidr != "" {
			one.Ranges = []rangeXML{{r.cidr}}
		}
		x.Rules = append(x.Rules, one)
	}
	return x
}

func (f *Fake) createGroup(form url.Values) (any, error) {
	type created struct {
		XMLName xml.Name `xml:"body"`
		ID      string   `xml:"groupId"`
	}
	name := form.Get("GroupName")
	if slices.ContainsFunc(f.groups, func(g *group) bool { return g.name == name }) {
		return nil, &fault{"InvalidGroup.Duplicate", "the security group " + name + " already exists"}
	}
	g := &group{id: fmt.Sprintf("sg-%017x", len(f.calls)+0x100), name: name, description: form.Get("GroupDescription"), tags: map[string]string{}}
	f.groups = append(f.groups, g)
	return created{ID: g.id}, nil
}

func (f *Fake) deleteGroup(form url.Values) (any, error) {
	g, err := f.group(form.Get("GroupId"))
	if err != nil {
		return nil, err
	}
	if g.id == NodeGroup {
		return nil, &fault{"DependencyViolation", "instances have it"}
	}
	if slices.ContainsFunc(f.groups, func(o *group) bool { return o.admits([]string{g.id}) }) {
		return nil, &fault{"DependencyViolation", "another group refers to it"}
	}
	f.groups = slices.DeleteFunc(f.groups, func(o *group) bool { return o == g })
	return done{Return: true}, nil
}

func (f *Fake) group(id string) (*group, error) {
	for _, g := range f.groups {
		if g.id == id {
			return g, nil
		}
	}
	return nil, &fault{"InvalidGroup.NotFound", "there is no security group " + id}
}

func (f *Fake) authorize(form url.Values) (any, error) {
	g, err := f.group(form.Get("GroupId"))
	if err != nil {
		return nil, err
	}
	for _, r := range rules(form) {
		if slices.Contains(g.rules, r) {
			return nil, &fault{"InvalidPermission.Duplicate", "the rule already exists"}
		}
		g.rules = append(g.rules, r)
	}
	return done{Return: true}, nil
}

func (f *Fake) revoke(form url.Values) (any, error) {
	g, err := f.group(form.Get("GroupId"))
	if err != nil {
		return nil, err
	}
	removed := rules(form)
	g.rules = slices.DeleteFunc(g.rules, func(r rule) bool { return slices.Contains(removed, r) })
	return done{Return: true}, nil
}

// rules reads the permissions of a request, one rule for each source.
func rules(form url.Values) []rule {
	var list []rule
	for i := 1; form.Has(fmt.Sprintf("IpPermissions.%d.IpProtocol", i)); i++ {
		at := fmt.Sprintf("IpPermissions.%d.", i)
		r := rule{protocol: form.Get(at + "IpProtocol"), from: form.Get(at + "FromPort"), to: form.Get(at + "ToPort")}
		for k := 1; form.Has(fmt.Sprintf("%sIpRanges.%d.CidrIp", at, k)); k++ {
			r.cidr = form.Get(fmt.Sprintf("%sIpRanges.%d.CidrIp", at, k))
			list = append(list, r)
		}
		r.cidr = ""
		for k := 1; form.Has(fmt.Sprintf("%sGroups.%d.GroupId", at, k)); k++ {
			r.group = form.Get(fmt.Sprintf("%sGroups.%d.GroupId", at, k))
			list = append(list, r)
		}
	}
	return list
}

func (f *Fake) createTags(form url.Values) (any, error) {
	tags := map[string]string{}
	for i := 1; form.Has(fmt.Sprintf("Tag.%d.Key", i)); i++ {
		tags[form.Get(fmt.Sprintf("Tag.%d.Key", i))] = form.Get(fmt.Sprintf("Tag.%d.Value", i))
	}
	for _, id := range numbered(form, "ResourceId.") {
		g, err := f.group(id)
		if err != nil {
			return nil, err
		}
		maps.Copy(g.tags, tags)
	}
	return done{Return: true}, nil
}
