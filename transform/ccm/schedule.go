// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"fmt"
	"slices"

	"github.com/rancher/wrangler/v3/pkg/data/convert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// NodeClass is what the scheduler sees of the nodes of a machine class.
type NodeClass struct {
	Name   string
	Labels map[string]string
	Taints []corev1.Taint
}

// Refuses reports why the DaemonSet puts no pod on the nodes of a class, or "".
func (c Chart) Refuses(class NodeClass) string {
	if missed := c.missedLabels(class); len(missed) > 0 {
		return fmt.Sprintf("nodeSelector asks for %s: %q", missed[0], c.selector()[missed[0]])
	}
	tolerations, err := c.tolerations()
	if err != nil {
		return "the tolerations cannot be read"
	}
	for _, taint := range class.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !tolerates(tolerations, taint) {
			return fmt.Sprintf("no toleration for the taint %s:%s", taint.Key, taint.Effect)
		}
	}
	return ""
}

// Blamed returns the path of the values for which Refuses has something to say.
func (c Chart) Blamed(class NodeClass) []string {
	if missed := c.missedLabels(class); len(missed) > 0 {
		return []string{selectorKey, missed[0]}
	}
	return []string{tolerationsKey}
}

// missedLabels returns the keys of the node selector whose labels the nodes do not
// have.
func (c Chart) missedLabels(class NodeClass) []string {
	selector := c.selector()
	return slices.DeleteFunc(lists.Keys(selector), func(key string) bool {
		have, found := class.Labels[key]
		return found && have == selector[key]
	})
}

// SchedulingShown reports whether the file shows what decides where the pods run.
func (c Chart) SchedulingShown() bool {
	_, selector := c.Unknown(selectorKey)
	_, tolerations := c.Unknown(tolerationsKey)
	return !selector && !tolerations
}

func tolerates(tolerations []corev1.Toleration, taint corev1.Taint) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		return t.ToleratesTaint(klog.Logger{}, &taint, false)
	})
}

// selector returns the node selector.
func (c Chart) selector() map[string]string {
	all := map[string]string{}
	own, _ := c.Value(selectorKey).(map[string]any)
	for key, v := range own {
		all[key] = fmt.Sprint(v)
	}
	return all
}

func (c Chart) tolerations() (list []corev1.Toleration, err error) {
	err = convert.ToObj(c.list(tolerationsKey), &list)
	return list, err
}

const (
	controlPlaneRole = "node-role.kubernetes.io/control-plane"
	etcdRole         = "node-role.kubernetes.io/etcd"
	selectorKey      = "nodeSelector"
	tolerationsKey   = "tolerations"
)

// Uninitialized is on every node that registers with an external provider, until
// the manager has initialised it; so the manager has to tolerate it.
var Uninitialized = corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}

// usualTaints are those of control planes that Rancher makes (rancher
// pkg/capr/planner).
var usualTaints = []corev1.Taint{
	Uninitialized,
	{Key: controlPlaneRole, Effect: corev1.TaintEffectNoSchedule},
	{Key: etcdRole, Effect: corev1.TaintEffectNoExecute},
}

// completeScheduling makes the pods land on all classes of nodes, if they do not:
// the selector is that of the values for the format, and Exists tolerates a taint whatever
// its value.
func (w writing) completeScheduling(o Options, classes []NodeClass) {
	if w.SchedulingShown() && slices.ContainsFunc(classes, func(class NodeClass) bool { return w.Refuses(class) != "" }) {
		base, _ := o.base()
		usual := parsed(base)
		w.completeSelector(usual.Get(selectorKey), classes)
		w.completeTolerations(usual.Get(tolerationsKey), classes)
	}
}

// completeTolerations adds those that are missing. A list in the values replaces
// the chart's own.
func (w writing) completeTolerations(usual yamledit.Node, classes []NodeClass) {
	own := w.Decider(tolerationsKey).Root.Get(tolerationsKey)
	tolerations, err := w.tolerations()
	switch {
	case err != nil:
		w.ed.File.Fail(own.Errorf("they cannot be read", "write each with key, operator and effect"))
	case !own.IsList():
		tolerations = nil
	}
	var missing []any
	for _, taint := range taintsOf(usual, classes) {
		if !tolerates(tolerations, taint) {
			missing = append(missing, toleration(taint))
			tolerations = append(tolerations, corev1.Toleration{Key: taint.Key, Operator: corev1.TolerationOpExists, Effect: taint.Effect})
		}
	}
	w.add(tolerationsKey, missing...)
}

// completeSelector gives the selector the labels of the format's control planes. Another label
// that they do not have is the author's to take away.
func (w writing) completeSelector(ofFormat yamledit.Node, classes []NodeClass) {
	usual := labelsOf(ofFormat)
	completes := false
	for _, class := range classes {
		for _, key := range w.missedLabels(class) {
			if !slices.ContainsFunc(usual, func(p yamledit.Pair) bool { return p.Key == key }) {
				w.ed.File.Fail(w.Decider(selectorKey, key).Node(selectorKey, key).Errorf("nodeSelector asks for "+key+", which nodes of class "+class.Name+" do not have with this value",
					"remove it, or label all control planes"))
			}
			completes = true
		}
	}
	if !completes {
		return
	}
	p := w.place(selectorKey, controlPlaneRole)
	if !p.root.Get(selectorKey).IsMap() && len(usual) > 1 {
		p.put(usual, selectorKey)
		return
	}
	given, _ := w.Given()[selectorKey].(map[string]any)
	for _, label := range usual {
		if v, stated := given[label.Key]; !stated || v != label.Value {
			p.put(label.Value, selectorKey, label.Key)
		}
	}
}

// labelsOf are those that a selector of the values for the format asks control planes for. A null
// takes a label of the chart's own away, which Helm would keep.
func labelsOf(selector yamledit.Node) yamledit.Map {
	if len(selector.Entries()) == 0 {
		return yamledit.Map{{Key: controlPlaneRole, Value: "true"}}
	}
	return lists.Map(selector.Entries(), func(e yamledit.Entry) yamledit.Pair { return yamledit.Pair{Key: e.Key, Value: e.Value.Value()} })
}

// taintsOf returns the taints that keep pods off control planes: the usual ones that the values for
// the format tolerate first, unless nodes have them with another value, then those of the nodes.
func taintsOf(tolerations yamledit.Node, classes []NodeClass) []corev1.Taint {
	var all []corev1.Taint
	for _, usual := range usualTaints {
		tolerated := func(n yamledit.Node) bool { return n.StringAt("key") == usual.Key }
		other := func(t corev1.Taint) bool { return t.MatchTaint(&usual) && t.Value != usual.Value }
		if slices.ContainsFunc(tolerations.Items(), tolerated) && !slices.ContainsFunc(classes, func(class NodeClass) bool { return slices.ContainsFunc(class.Taints, other) }) {
			all = append(all, usual)
		}
	}
	for _, class := range classes {
		all = append(all, lists.Where(class.Taints, func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule })...)
	}
	return all
}

func toleration(t corev1.Taint) yamledit.Map {
	return yamledit.Map{{Key: "key", Value: t.Key}, {Key: "operator", Value: "Exists"}, {Key: "effect", Value: string(t.Effect)}}
}
