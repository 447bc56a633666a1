// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package aws holds what is only true of AWS: what documents and clusters call the provider and
// what belongs to it, the IDs of instances, the words of its errors, and what a cluster needs in its
// account before stages of a migration (rights of its machines, tags of its resources,
// credentials for ECR).
//
// Invariant: what an account needs is done by hand. The commands look first where they can, add
// and never take away, and name no value that the cluster's file does not show:
// the shell refuses a command whose variables are not set.
package aws

import (
	"cmp"
	_ "embed"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/action"
)

// ManagerNeeds is what a cloud-controller-manager needs before it starts. config is the
// provider's configuration, as far as the file holds it.
func ManagerNeeds(config string) action.Preparation {
	id := clusterID(config)
	return action.Preparation{
		What: "add in AWS what is missing: permissions of the machines' IAM roles (" + ManagerPolicyFile + ", " + NodePolicyFile +
			") and tags " + TagPrefix + cmp.Or(id, "ID"),
		Actions: []action.Action{{ // a policy is added to a role, which keeps those that it has
			Why:     "the IAM role of the control planes has the permissions in " + ManagerPolicyFile,
			Command: action.Command(`aws iam put-role-policy --role-name "${CONTROL_PLANE_ROLE:?set it to the IAM role of the control planes}" --policy-name aws-cloud-controller-manager --policy-document file://%s`, ManagerPolicyFile),
		}, {
			Why:     "the IAM role of the other nodes has the permissions in " + NodePolicyFile,
			Command: action.Command(`aws iam put-role-policy --role-name "${NODE_ROLE:?set it to the IAM role of the other nodes}" --policy-name kubernetes-node --policy-document file://%s`, NodePolicyFile),
		}, Tagged(id), Tag(id)},
		Files: []action.File{
			{Name: ManagerPolicyFile, Content: managerPolicy},
			{Name: NodePolicyFile, Content: nodePolicy},
		},
	}
}

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

// The kubelet had credentials for ECR of its own up to 1.26; from 1.27 on it asks a
// program (kubernetes #116329).
const (
	provider = "ecr-credential-provider" // the program, and the name of its entry

	// ProviderFile is the kubelet's configuration of it in a plan folder.
	ProviderFile = provider + ".yaml"
)

// providerConfig is of v1, as the program speaks it from v1.27.1 on
// (cloud-provider-aws #597).
//
//go:embed ecr-credential-provider.yaml
var providerConfig string

// Place is where a format's kubelet looks for credential providers.
type Place struct {
	Config, Folder string
	// Arguments means that the kubelet needs two arguments.
	Arguments bool
}

// OfKubernetes is where it looks in a folder of Kubernetes itself, which RKE mounts into the kubelet's container.
var OfKubernetes = Place{Config: "/etc/kubernetes/credential-provider/config.yaml", Folder: "/etc/kubernetes/credential-provider", Arguments: true}

// CredentialProvider puts the configuration of the program on a node.
func CredentialProvider(at Place) action.Action {
	what := "then each of these nodes needs the file " + ProviderFile + " and the program of that name, from a release of cloud-provider-aws of the cluster's new minor"
	if at.Arguments {
		what += ", and its kubelet --image-credential-provider-config=" + at.Config + " and --image-credential-provider-bin-dir=" + at.Folder
	}
	return action.Action{Why: what, Command: action.Command("install -D -m 0644 %s %s && test -x %s/%s", ProviderFile, action.Path(at.Config), action.Path(at.Folder), provider)}
}

// ECRNeeds is what nodes need for their images in ECR before they run 1.27.
func ECRNeeds(at Place) action.Preparation {
	return action.Preparation{
		What: "manually on the nodes, if pods use images from ECR: a credential provider for the kubelet of 1.27 (" + ProviderFile + ")",
		Actions: []action.Action{{
			Why:     "if pods use images from ECR, their kubelets need a credential provider from 1.27 on",
			Command: `kubectl get pods -A -o jsonpath='{range .items[*]}{.spec.nodeName}{"\t"}{.spec.containers[*].image}{"\n"}{end}' | grep -F .dkr.ecr`,
		}, CredentialProvider(at)},
		Files: []action.File{{Name: ProviderFile, Content: providerConfig}},
	}
}

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
