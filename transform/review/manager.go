// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// routine are the paths of the manager's objects and values that change without harm, and routineArg its arguments.
// Whether it still runs after any other change is not known.
var (
	routine    = regexp.MustCompile(`(?:^|\.)(?:resources|podAnnotations|podLabels|revisionHistoryLimit|priorityClassName|tag|version)(?:\.|$)|^(?:\S+ \S+\.)?metadata\.(?:labels|annotations)\.`)
	routineArg = regexp.MustCompile(`^--(?:v|vmodule|logging-format)=`)
	helm       = regexp.MustCompile(`^(?:\S+ \S+\.)?metadata\.annotations\.helmcharts\.`) // its controller reads them
	image      = regexp.MustCompile(`^([^@]+?)(?::[\w][\w.-]*)?(?:@.*)?$`)
)

// manager reports what changes of the cloud-controller-manager that runs before the change and after it, and is of no stage.
func (c *comparison) manager() {
	expected := &Side{Format: c.before.Format, Docs: c.expected, Related: c.before.Related}
	was, is := expected.manager(c.target), c.after.manager(c.target)
	if !was.Exists() || !is.Exists() || c.moves() {
		return
	}
	var changed []string
	walk("", objects(was), objects(is), func(path string, before, after any) {
		if !isRoutine(path, before, after) {
			changed = append(changed, path)
		}
	})
	if len(changed) == 0 {
		return
	}
	c.report(managerChanged, transform.FindingAt(is, "the cloud-controller-manager changes in "+lists.Few(changed, 3)+": no other manager runs the cloud controllers if it does not start, or does less",
		"check it with helm template or on a test cluster, and accept "+managerChanged.ID+" in the base until this is merged"))
}

func isRoutine(path string, before, after any) bool {
	text := func(v any) string { s, _ := v.(string); return s }
	switch {
	case helm.MatchString(path):
		return false
	case routine.MatchString(path):
		return true
	case strings.HasSuffix(path, "args") || strings.HasSuffix(path, "command"):
		return routineArg.MatchString(text(before) + text(after))
	case strings.HasSuffix(path, ".image"):
		a, b := image.FindStringSubmatch(text(before)), image.FindStringSubmatch(text(after))
		return a != nil && b != nil && a[1] == b[1]
	}
	return false
}

// objects are those of the manager by their kinds and names, or the one object or values file that has it.
func objects(n yamledit.Node) any {
	text, inline := n.String()
	if !inline {
		return n.Value()
	}
	all := map[string]any{}
	for _, c := range yamledit.Split("", []byte(text)) {
		var object map[string]any
		if !strings.Contains(string(c.Bytes), "cloud-controller-manager") || yaml.Unmarshal(c.Bytes, &object) != nil {
			continue
		}
		metadata, _ := object["metadata"].(map[string]any)
		all[fmt.Sprintf("%v %v", object["kind"], metadata["name"])] = object
	}
	return all
}

// walk calls found for the innermost values that differ. The order of texts in a list does not count, and texts
// that hold YAML are compared as these are read.
func walk(path string, a, b any, found func(path string, a, b any)) {
	was, isMap := mapping(path, a)
	is, both := mapping(path, b)
	if isMap && both {
		for _, key := range lists.Keys(was, is) {
			walk(strings.TrimPrefix(path+"."+key, "."), was[key], is[key], found)
		}
		return
	}
	if yamledit.Same(a, b) {
		return
	}
	x, _ := a.([]any)
	y, _ := b.([]any)
	if x == nil || y == nil {
		found(path, a, b)
		return
	}
	only := func(list, others []any) []any {
		return lists.Where(list, func(v any) bool { return !slices.ContainsFunc(others, func(o any) bool { return yamledit.Same(o, v) }) })
	}
	onlyA, onlyB := only(x, y), only(y, x)
	for i := range max(len(onlyA), len(onlyB)) {
		var before, after any
		if i < len(onlyA) {
			before = onlyA[i]
		}
		if i < len(onlyB) {
			after = onlyB[i]
		}
		walk(path, before, after, found)
	}
}

// mapping is a value as a mapping: of an object also below its kind and name, and of a text with values of a chart.
func mapping(path string, v any) (map[string]any, bool) {
	if m, is := v.(map[string]any); is {
		return m, true
	}
	text, is := v.(string)
	if !is || !strings.HasSuffix(path, "valuesContent") {
		return nil, false
	}
	var m map[string]any
	err := yaml.Unmarshal([]byte(text), &m)
	return m, err == nil && m != nil
}
