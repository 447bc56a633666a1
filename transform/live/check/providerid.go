// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

// unlessLater makes findings about Nodes without a provider ID of AWS warnings, as long as
// the stage that sets it is still to come.
func (j *evaluation) unlessLater(found transform.Findings) {
	for i := range found {
		if j.Check.ProviderIDsPending {
			found[i].Severity = transform.Warning
		}
	}
}

// providerIDMissing takes a cluster without nodes for one that was not seen.
func (j *evaluation) providerIDMissing(found *transform.Findings) {
	if len(j.Nodes) == 0 && j.Saw(observed.Nodes) {
		found.On("nodes", "no node exists", "check whether this is the intended cluster")
		return
	}
	for _, n := range j.Nodes {
		if n.ProviderID == "" {
			found.On(nodePath(n.Name), "the node has no provider ID", j.initialize(n))
		}
	}
	j.unlessLater(*found)
}

func (j *evaluation) providerIDForeign(found *transform.Findings) {
	for _, n := range j.Nodes {
		switch scheme, isID := aws.Scheme(n.ProviderID); {
		case !isID || strings.EqualFold(scheme, aws.Name):
		case strings.Contains(j.Observation.Version, "+"+scheme): // as a distribution names its releases
			found.On(nodePath(n.Name), "the stub cloud controller of "+strings.ToUpper(scheme)+" initialized the node, and a provider ID never changes",
				"set disable-cloud-controller: true, then "+registerAgain(n))
		default:
			found.On(nodePath(n.Name), "the provider ID is one of "+scheme, "after aws has become the only provider of its machine, "+registerAgain(n))
		}
	}
	j.unlessLater(*found)
}

func (j *evaluation) providerIDMalformed(found *transform.Findings) {
	for _, n := range j.Nodes {
		if why := aws.Malformed(n.ProviderID); why != "" {
			found.On(nodePath(n.Name), fmt.Sprintf("the provider ID %q %s", n.ProviderID, why), "it must be aws:///ZONE/INSTANCE; "+registerAgain(n))
		}
	}
}

func (j *evaluation) providerIDDuplicate(found *transform.Findings) {
	first := map[string]observed.Node{}
	for _, n := range j.Nodes {
		id, ok := aws.ParseProviderID(n.ProviderID)
		if !ok {
			continue
		}
		other, again := first[id.Instance]
		if !again {
			first[id.Instance] = n
			continue
		}
		fix := "delete the Node whose kubelet no longer runs; it is usually the one that is NotReady"
		if n.Etcd() || other.Etcd() {
			fix = "find the Node whose kubelet no longer runs; it is usually the one that is NotReady; if it is an etcd member, " + replaceMember
		}
		found.On(nodePath(n.Name), "the node "+other.Name+" has the same instance "+id.Instance, fix)
	}
}

// registerAgain is how a machine gets a Node with another provider ID, which never changes. RKE2
// removes the etcd member whose Node is deleted (k3s-io/k3s pkg/etcd/member_controller.go).
func registerAgain(n observed.Node) string {
	if n.Etcd() {
		return replaceMember
	}
	return "delete the Node and make its machine register again"
}

const replaceMember = "replace its machine, one etcd member at a time; do not delete the Node, because the member is removed with it"

func (j *evaluation) providerIDZoneMismatch(found *transform.Findings) {
	for _, n := range j.Nodes {
		id, ok := aws.ParseProviderID(n.ProviderID)
		if label := n.Zone(); ok && id.Zone != "" && label != "" && id.Zone != label {
			found.On(nodePath(n.Name), fmt.Sprintf("the zone of the provider ID is %s, that of the label %s is %s", id.Zone, observed.ZoneLabel, label), "compare with the instance in AWS, and correct the label")
		}
	}
}
