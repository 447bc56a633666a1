// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/json"
	"sync"
)

// The policies in a plan folder.
const (
	ManagerPolicyFile = "aws-ccm-policy.json"
	NodePolicyFile    = "aws-node-policy.json"
)

// managerRights are what the controllers of the cloud-controller-manager ask AWS
// for: the calls of cloud-provider-aws pkg/providers/v1 at v1.27.2 and of
// docs/prerequisites.md at v1.26.6 and v1.27.2, without those for volumes, which
// are the EBS CSI driver's.
var managerRights = []string{
	"autoscaling:DescribeAutoScalingGroups",
	"autoscaling:DescribeLaunchConfigurations",
	"autoscaling:DescribeTags",
	"ec2:AuthorizeSecurityGroupIngress",
	"ec2:CreateRoute",
	"ec2:CreateSecurityGroup",
	"ec2:CreateTags",
	"ec2:DeleteRoute",
	"ec2:DeleteSecurityGroup",
	"ec2:DescribeAvailabilityZones",
	"ec2:DescribeInstances",
	"ec2:DescribeRegions",
	"ec2:DescribeRouteTables",
	"ec2:DescribeSecurityGroups",
	"ec2:DescribeSubnets",
	"ec2:DescribeVpcs",
	"ec2:ModifyInstanceAttribute",
	"ec2:RevokeSecurityGroupIngress",
	"elasticloadbalancing:AddTags",
	"elasticloadbalancing:ApplySecurityGroupsToLoadBalancer",
	"elasticloadbalancing:AttachLoadBalancerToSubnets",
	"elasticloadbalancing:ConfigureHealthCheck",
	"elasticloadbalancing:CreateListener",
	"elasticloadbalancing:CreateLoadBalancer",
	"elasticloadbalancing:CreateLoadBalancerListeners",
	"elasticloadbalancing:CreateLoadBalancerPolicy",
	"elasticloadbalancing:CreateTargetGroup",
	"elasticloadbalancing:DeleteListener",
	"elasticloadbalancing:DeleteLoadBalancer",
	"elasticloadbalancing:DeleteLoadBalancerListeners",
	"elasticloadbalancing:DeleteTargetGroup",
	"elasticloadbalancing:DeregisterInstancesFromLoadBalancer",
	"elasticloadbalancing:DeregisterTargets",
	"elasticloadbalancing:DescribeListeners",
	"elasticloadbalancing:DescribeLoadBalancerAttributes",
	"elasticloadbalancing:DescribeLoadBalancerPolicies",
	"elasticloadbalancing:DescribeLoadBalancers",
	"elasticloadbalancing:DescribeTargetGroups",
	"elasticloadbalancing:DescribeTargetHealth",
	"elasticloadbalancing:DetachLoadBalancerFromSubnets",
	"elasticloadbalancing:ModifyListener",
	"elasticloadbalancing:ModifyLoadBalancerAttributes",
	"elasticloadbalancing:ModifyTargetGroup",
	"elasticloadbalancing:RegisterInstancesWithLoadBalancer",
	"elasticloadbalancing:RegisterTargets",
	"elasticloadbalancing:SetLoadBalancerPoliciesForBackendServer",
	"elasticloadbalancing:SetLoadBalancerPoliciesOfListener",
	"iam:CreateServiceLinkedRole",
	"kms:DescribeKey",
}

// nodeRights are those of every machine: what a kubelet and its credential provider
// for ECR ask for.
var nodeRights = []string{
	"ec2:DescribeInstances",
	"ec2:DescribeRegions",
	"ecr:BatchCheckLayerAvailability",
	"ecr:BatchGetImage",
	"ecr:DescribeRepositories",
	"ecr:GetAuthorizationToken",
	"ecr:GetDownloadUrlForLayer",
	"ecr:GetRepositoryPolicy",
	"ecr:ListImages",
}

// The policies, which are the same for every cluster.
var (
	managerPolicy = sync.OnceValue(func() string { return policy(managerRights) })
	nodePolicy    = sync.OnceValue(func() string { return policy(nodeRights) })
)

// policy writes rights on all resources of the account as IAM takes them.
func policy(rights []string) string {
	type statement struct {
		Effect   string
		Action   []string
		Resource string
	}
	document := struct {
		Version   string
		Statement []statement
	}{"2012-10-17", []statement{{"Allow", rights, "*"}}}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		panic(err) // strings alone
	}
	return string(text) + "\n"
}
