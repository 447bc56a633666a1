// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"regexp"
	"slices"
	"strings"
)

// cause is why AWS makes no load balancer, as the provider's Events word it.
type cause struct {
	words []string // any of them, in lower case
	fix   string
}

// causes are those that need a change in AWS or of the Service, in the words of
// cloud-provider-aws pkg/providers/v1/aws.go (v1.26.0, v1.28.1) and of the in-tree
// provider (legacy-cloud-providers/aws v0.26.15), which are the same. The codes are of
// EC2 (UnauthorizedOperation), Elastic Load Balancing and STS (AccessDenied).
var causes = []cause{
	{[]string{"multiple tagged security groups found"},
		"remove the tag " + TagPrefix + "ID from all security groups of each instance but one: aws ec2 delete-tags"},
	{[]string{"multiple untagged security groups found"},
		"add to one security group of each instance the tag " + TagPrefix + "ID"},
	{[]string{"could not find any suitable subnets for creating the elb"},
		"add to the subnets for load balancers the tag " + TagPrefix + "ID, and kubernetes.io/role/elb=1 to public or kubernetes.io/role/internal-elb=1 to internal ones; a public subnet needs a route to an internet gateway"},
	{[]string{"unauthorizedoperation", "unauthorizedaccess", "accessdenied", "access denied", "not authorized to perform"},
		"add the missing permission to the IAM role of the control planes; the file " + ManagerPolicyFile + " of rke-lm plan --out DIR has all actions that the controllers need; a permissions boundary or a policy of the organization can also deny them"},
	{[]string{"nocredentialproviders", "no ec2 imds role found", "ec2metadataerror", "failed to refresh cached credentials"},
		"make the instance metadata reachable for the manager, for its credentials: it needs an instance profile, and host networking or a hop limit of 2"},
	{[]string{"toomanyloadbalancers", "securitygrouplimitexceeded", "rulespersecuritygrouplimitexceeded"},
		"request a higher quota from AWS, or delete unused resources"},
	{[]string{"there are no available nodes for loadbalancer"},
		"check why no node receives traffic: a node must be Ready, have a provider ID, and not have the label node.kubernetes.io/exclude-from-external-load-balancers"},
}

// Fix is what a message needs in AWS or of the Service; "" where it is none of the known ones.
func Fix(message string) string {
	text := strings.ToLower(message)
	for _, c := range causes {
		if slices.ContainsFunc(c.words, func(words string) bool { return strings.Contains(text, words) }) {
			return missing(message) + c.fix
		}
	}
	return ""
}

// denied is the one that a policy does not allow.
var denied = regexp.MustCompile(`not authorized to perform:? ([a-z0-9-]+:[A-Za-z]+)`)

// missing names the action that is not allowed, where AWS says it.
func missing(message string) string {
	if m := denied.FindStringSubmatch(message); m != nil {
		return "the action " + m[1] + " is not allowed: "
	}
	return ""
}
