// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/rke-lm/rke-lm/transform/action"
)

// TagPrefix begins the key of the tag that says which cluster a resource is of
// (cloud-provider-aws pkg/providers/v1/tags.go).
const TagPrefix = "kubernetes.io/cluster/"

// idForm is what an ID may be made of: nothing that a shell reads.
var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/@-]*$`)

// clusterID returns the ID that a provider's configuration gives the cluster, or ""
// where it gives none, and the manager looks for the tag of its own instance.
func clusterID(config string) string {
	id := ""
	for _, s := range settings(config) {
		if s.section == "global" && (s.name == "kubernetesclusterid" || s.name == "kubernetesclustertag") {
			id = plain(s.value)
		}
	}
	if !idForm.MatchString(id) {
		return ""
	}
	return id
}

// plain is a value without its quotes and the comment after it.
func plain(value string) string {
	if quoted, rest, found := strings.Cut(strings.TrimPrefix(value, `"`), `"`); found && strings.HasPrefix(value, `"`) && !strings.Contains(rest, `"`) {
		return quoted
	}
	value, _, _ = strings.Cut(value, ";")
	value, _, _ = strings.Cut(value, "#")
	return strings.TrimSpace(value)
}

// Tagged shows what has the tag of the cluster.
func Tagged(id string) action.Action {
	command := action.Command(describeUnknown)
	if id != "" {
		command = action.Command(describe, id, id, id)
	}
	return action.Action{
		Why:     "all instances of the cluster, its subnets, and one security group of each instance have the tag " + TagPrefix + cmp.Or(id, "ID") + "; the manager does not start without the one of its own instance",
		Command: command,
	}
}

// The commands that look for a tag, and the same where the person has to say of which
// cluster.
const (
	unknownID = `"${CLUSTER_ID:?set it to what follows ` + TagPrefix + ` in the tag of a control plane}"`

	describe        = instances + "%s" + instancesOut + subnets + "%s" + subnetsOut + groups + "%s" + groupsOut
	describeUnknown = instances + unknownID + instancesOut + subnets + unknownID + subnetsOut + groups + unknownID + groupsOut

	filter       = " --filters Name=tag-key,Values=" + TagPrefix
	instances    = "aws ec2 describe-instances" + filter
	instancesOut = " --output text --query 'Reservations[].Instances[].[InstanceId,PrivateDnsName,SecurityGroups[].GroupId|join(`,`,@)]'\n"
	subnets      = "aws ec2 describe-subnets" + filter
	subnetsOut   = " --output text --query 'Subnets[].[SubnetId,AvailabilityZone]'\n"
	groups       = "aws ec2 describe-security-groups" + filter
	groupsOut    = " --output text --query 'SecurityGroups[].[GroupId,GroupName]'"
)

// Tag gives the tag to what lacks it.
func Tag(id string) action.Action {
	const resources = "aws ec2 create-tags --resources ${RESOURCES:?set it to the IDs that lack the tag} --tags Key=" + TagPrefix
	command := action.Command(resources + unknownID + ",Value=owned")
	if id != "" {
		command = action.Command(resources+"%s,Value=owned", id)
	}
	return action.Action{
		Why:     "add the tag where it is missing (owned, or shared for a subnet of several clusters); never to a second security group of an instance",
		Command: command,
	}
}
