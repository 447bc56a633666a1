// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"regexp"
	"strings"
)

// TagPrefix begins the key of the tag that says which cluster a resource is of
// (cloud-provider-aws pkg/providers/v1/tags.go).
const TagPrefix = "kubernetes.io/cluster/"

// idForm is what an ID may be made of: nothing that a shell reads.
var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/@-]*$`)

// ClusterID returns the ID that a provider's configuration gives the cluster, or ""
// where it gives none, and the manager looks for the tag of its own instance.
func ClusterID(config string) string {
	section, id := "", ""
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.Trim(line, "[] \t"))
			continue
		}
		name, value, found := strings.Cut(line, "=")
		if !found || section != "global" {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "kubernetesclusterid", "kubernetesclustertag":
			id = plain(value)
		}
	}
	if !idForm.MatchString(id) {
		return ""
	}
	return id
}

// plain is a value without its quotes and the comment behind it.
func plain(value string) string {
	value = strings.TrimSpace(value)
	if quoted, rest, found := strings.Cut(strings.TrimPrefix(value, `"`), `"`); found && strings.HasPrefix(value, `"`) && !strings.Contains(rest, `"`) {
		return quoted
	}
	value, _, _ = strings.Cut(value, ";")
	value, _, _ = strings.Cut(value, "#")
	return strings.TrimSpace(value)
}

// key is the key of the cluster's tag, inside of double quotes of a shell.
func key(id string) string {
	if id == "" {
		id = "${CLUSTER_ID:?set it to what follows " + TagPrefix + " in the tag of a control plane}"
	}
	return TagPrefix + id
}

// Tagged looks for what has the tag of the cluster.
type Tagged struct{ ClusterID string }

// Purpose implements transform.Action.
func (a Tagged) Purpose() string {
	return "all instances of the cluster, its subnets, and one security group of each instance have the tag " + TagPrefix + or(a.ClusterID, "ID") + "; the manager does not start without the one of its own instance"
}

// Command implements transform.Action.
func (a Tagged) Command() string {
	filter := ` --filters "Name=tag-key,Values=` + key(a.ClusterID) + `" --output text --query `
	return "aws ec2 describe-instances" + filter + "'Reservations[].Instances[].[InstanceId,PrivateDnsName,SecurityGroups[].GroupId|join(`,`,@)]'\n" +
		"aws ec2 describe-subnets" + filter + "'Subnets[].[SubnetId,AvailabilityZone]'\n" +
		"aws ec2 describe-security-groups" + filter + "'SecurityGroups[].[GroupId,GroupName]'"
}

// Tag gives the tag to what lacks it.
type Tag struct{ ClusterID string }

// Purpose implements transform.Action.
func (Tag) Purpose() string {
	return "what lacks the tag gets it (owned, and shared for a subnet of several clusters), but never a second security group of one instance"
}

// Command implements transform.Action.
func (a Tag) Command() string {
	return "aws ec2 create-tags --resources ${RESOURCES:?set it to the IDs that lack the tag} --tags \"Key=" + key(a.ClusterID) + ",Value=owned\""
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
