// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"maps"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/live/ownership"
)

// twins finds two static pods of kube-controller-manager on one node: the kubelet
// runs every file of its manifest folder, also a copy that was kept there. Either may
// lead, so where they differ no one can determine what runs next. A pod of the API server
// has a service account, and two of those on a node are a rollout.
func (j *evaluation) twins() []transform.Finding {
	first := map[string]ownership.Process{}
	var list []transform.Finding
	for _, p := range j.processes {
		if p.Component != observed.KubeManager || p.Account != "" || p.Node == "" || !p.Running {
			continue
		}
		other, again := first[p.Node]
		if !again {
			first[p.Node] = p
			continue
		}
		f := found(p.Path(), "a second static pod of kube-controller-manager runs on the node "+p.Node+", next to "+other.Pod+": either one can be the leader",
			"check the manifest folder of the kubelet for a second file of kube-controller-manager, such as a backup, and move it out of the folder")
		if alike(p, other) {
			f.Severity = transform.Warning
			f.Message += ". They do the same until one of the two files changes"
		}
		list = append(list, f)
	}
	return list
}

// alike reports whether two processes do the same with the cloud controllers.
func alike(a, b ownership.Process) bool {
	return a.Loops == b.Loops && a.Flag == b.Flag && a.Elects == b.Elects && a.Main == b.Main && a.Migration == b.Migration &&
		a.Hidden == b.Hidden && a.Unreadable == b.Unreadable && maps.Equal(a.Modes, b.Modes)
}
