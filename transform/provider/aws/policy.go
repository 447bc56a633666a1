// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import _ "embed"

// The policies in a plan folder, which are the same for every cluster.
const (
	ManagerPolicyFile = "aws-ccm-policy.json"
	NodePolicyFile    = "aws-node-policy.json"
)

// managerPolicy has what the controllers of the cloud-controller-manager ask AWS
// for: the calls of cloud-provider-aws pkg/providers/v1 at v1.27.2 and of
// docs/prerequisites.md at v1.26.6 and v1.27.2, without those for volumes, which
// are the EBS CSI driver's.
//
//go:embed aws-ccm-policy.json
var managerPolicy string

// nodePolicy has what every machine needs: what a kubelet and its credential provider
// for ECR ask for.
//
//go:embed aws-node-policy.json
var nodePolicy string
