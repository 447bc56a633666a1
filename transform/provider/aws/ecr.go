// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	_ "embed"

	"github.com/rke-lm/rke-lm/transform/action"
)

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
