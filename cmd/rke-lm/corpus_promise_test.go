// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// when is a promise that depends on the difference alone.
func when(is func(difference) bool) func(*outcome, difference) error {
	return func(_ *outcome, d difference) error {
		if !is(d) {
			return errors.New("it is no such change")
		}
		return nil
	}
}

// onlyPromisedValuesDiffer holds a stage to the differences that it may make. It knows values only: nothing of bytes, nor of
// the checks that a plan makes itself.
func onlyPromisedValuesDiffer(o *outcome, i int) error {
	promised, known := o.kind.promises[o.Steps[i].Stage.Name]
	if all := o.kind.promises[""]; all != nil {
		promised, known = all, true
	}
	if !known {
		return errors.New("the corpus tests do not know what this stage promises")
	}
	if len(o.changes[i]) == 0 {
		return errors.New("bytes change and no value does")
	}
	for _, d := range o.changes[i] {
		if err := promised(o, d); err != nil {
			return fmt.Errorf("%s changes otherwise than promised, %s becomes %s: %w", spot(d.is), kindOf(d.before), kindOf(d.after), err)
		}
	}
	return eachOnce(o.changes[i])
}

// kindOf describes a value without quoting it.
func kindOf(v any) string {
	switch v := v.(type) {
	case absence:
		return "nothing"
	case map[string]any:
		return fmt.Sprintf("a mapping of %d", len(v))
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	}
	return fmt.Sprintf("a %T", v)
}

// eachOnce refuses two additions of one value to one list.
func eachOnce(found []difference) error {
	for i, d := range found {
		for _, other := range found[:i] {
			if d.before == absent && other.before == absent && listOf(d) == listOf(other) && reflect.DeepEqual(d.after, other.after) {
				return fmt.Errorf("%s gains the same twice", listOf(d))
			}
		}
	}
	return nil
}

// listOf names the list that holds the place, or the place itself.
func listOf(d difference) string {
	if strings.HasSuffix(d.path, "[]") {
		return spot(d.is[:len(d.is)-1])
	}
	return spot(d.is)
}

const (
	globalConfig   = "spec.rkeConfig.machineGlobalConfig"
	selectorConfig = "spec.rkeConfig.machineSelectorConfig"
)

// argumentOf returns the key of the machine configuration at which the
// difference lies, with [] after it for a member of its list.
func argumentOf(d difference) string {
	for _, layer := range []string{globalConfig + ".", selectorConfig + "[].config."} {
		if key, found := strings.CutPrefix(d.path, layer); found {
			return key
		}
	}
	return ""
}

// isGrant wants all that the manifest held, and then a Role and a RoleBinding of the lease.
func isGrant(d difference) bool {
	m, err := readManifestChange(d)
	if err != nil {
		return false
	}
	old, _ := d.before.(string)
	text, _ := d.after.(string)
	n := len(m.before)
	return len(m.after) == n+2 && strings.HasPrefix(text, strings.TrimRight(old, "\n")) && slices.EqualFunc(m.before, m.after[:n], reflect.DeepEqual) &&
		isLeaseObject(m.after[n], "Role") && isLeaseObject(m.after[n+1], "RoleBinding")
}

func isLeaseObject(v any, kind string) bool {
	object, _ := v.(map[string]any)
	metadata := map[string]any{"name": "cloud-provider-extraction-migration", "namespace": "kube-system"}
	return object["kind"] == kind && reflect.DeepEqual(object["metadata"], metadata)
}

// manifestsIn returns the documents of a stream that hold anything.
func manifestsIn(stream string) ([]any, error) {
	var found []any
	r := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(stream)))
	for {
		text, err := r.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		v, err := valueOf(text)
		if err != nil {
			return nil, err
		}
		if v != nil {
			found = append(found, v)
		}
	}
}

// isFlag reports whether a value is the flag, switched on or not.
func isFlag(v any) bool {
	text, _ := v.(string)
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "--"), "=")
	return name == "enable-leader-migration"
}

// isBareFlag reports whether a value is the flag as a stage adds it.
func isBareFlag(v any) bool {
	return v == "enable-leader-migration" || v == "--enable-leader-migration"
}

func isFlagAdded(d difference) bool {
	switch argumentOf(d) {
	case "kube-controller-manager-arg[]":
		return d.before == absent && isBareFlag(d.after) || isFlagOn(d)
	case "kube-controller-manager-arg":
		return d.before != absent && isArgumentsWithFlag(d) || isFlagOn(d)
	}
	switch d.path {
	case selectorConfig + "[]":
		return d.before == absent && (isFlagEntry(d.after) || isPlainEntry(d.after))
	case selectorConfig:
		fresh, _ := d.after.([]any)
		return (d.before == absent || d.before == nil) && len(fresh) == 2 &&
			isFlagEntry(fresh[0]) && isPlainEntry(fresh[1])
	}
	return false
}

// isFlagOn wants a flag that was off to be on, in its own spelling.
func isFlagOn(d difference) bool {
	text, _ := d.before.(string)
	name, value, _ := strings.Cut(text, "=")
	return isBareFlag(name) && value == "false" && d.after == name+"=true"
}

// isArgumentsWithFlag wants what was no list to be one, with the flag last.
func isArgumentsWithFlag(d difference) bool {
	list, _ := d.after.([]any)
	if d.before == nil || d.before == "" {
		return len(list) == 1 && isBareFlag(list[0])
	}
	return len(list) == 2 && reflect.DeepEqual(list[0], d.before) && isBareFlag(list[1])
}

func isPlainEntry(v any) bool {
	return reflect.DeepEqual(v, map[string]any{"config": map[string]any{}})
}

func isFlagEntry(v any) bool {
	return reflect.DeepEqual(v, map[string]any{
		"config": map[string]any{"kube-controller-manager-arg": []any{"enable-leader-migration"}},
		"machineLabelSelector": map[string]any{"matchExpressions": []any{map[string]any{
			"key": "rke.cattle.io/control-plane-role", "operator": "In", "values": []any{"true"},
		}}},
	})
}
