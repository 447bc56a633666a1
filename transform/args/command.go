// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// Command returns the arguments in what a container runs, as the component reads
// them: a value may be after its flag as an item of its own, and an underscore
// in a name is a hyphen. Items that are no flags, such as the program, count by
// their text.
func Command(items []string) []Arg {
	var list []Arg
	for len(items) > 0 {
		a := Parse(items[0])
		if strings.HasPrefix(a.Text, "--") {
			a.Name = strings.ReplaceAll(a.Name, "_", "-")
		}
		items = items[1:]
		if takesNext(a) && len(items) > 0 && !strings.HasPrefix(items[0], "-") {
			a.Value, items = items[0], items[1:]
		}
		list = append(list, a)
	}
	return list
}

// takesNext reports whether the item after a flag is its value.
func takesNext(a Arg) bool {
	return strings.HasPrefix(a.Text, "--") && len(a.Text) > 2 && !strings.Contains(a.Text, "=") && !slices.Contains(switches, a.Name)
}

// GatesFlag is the argument that holds feature gates.
const GatesFlag = "feature-gates"

// Gates returns the feature gates that arguments name, with their values.
func Gates(list []Arg) map[string]string {
	gates := map[string]string{}
	for _, a := range list {
		if a.Name != GatesFlag {
			continue
		}
		for _, g := range strings.Split(a.Value, ",") {
			if name, value, _ := strings.Cut(strings.TrimSpace(g), "="); name != "" {
				gates[name] = strings.TrimSpace(value)
			}
		}
	}
	return gates
}

// accumulated are the flags of kube-apiserver of which every occurrence counts, in their
// order: lists, and maps whose entries are merged (kubernetes cmd/kube-apiserver, 1.22
// to 1.35: StringSlice, StringArray, the maps of component-base/cli/flag, vmodule). Of
// all others the last one counts.
var accumulated = map[string]bool{
	"admission-control": true, "allow-metric-labels": true, "api-audiences": true, "authorization-always-allow-paths": true,
	"authorization-mode": true, "cors-allowed-origins": true, "disable-admission-plugins": true, "disabled-metrics": true,
	"emulated-version": true, "enable-admission-plugins": true, "etcd-servers": true, "etcd-servers-overrides": true,
	"feature-gates": true, "kubelet-preferred-address-types": true, "min-compatibility-version": true,
	"oidc-required-claim": true, "oidc-signing-algs": true, "requestheader-allowed-names": true,
	"requestheader-extra-headers-prefix": true, "requestheader-group-headers": true, "requestheader-uid-headers": true,
	"requestheader-username-headers": true, "runtime-config": true, "service-account-issuer": true,
	"service-account-key-file": true, "strict-transport-security-directives": true, "tls-cipher-suites": true,
	"tls-sni-cert-key": true, "vmodule": true, "watch-cache-sizes": true,
}

// Accumulates reports whether every occurrence of a flag of kube-apiserver counts.
func Accumulates(flag string) bool { return accumulated[flag] }

// ForAPIServer returns what kube-apiserver makes of arguments, in one form: two lists
// mean the same to it where this is equal. The order among different flags is not kept;
// that of one flag's occurrences is, where more than the last one counts.
func ForAPIServer(list []Arg) []Arg {
	byFlag := map[string][]Arg{}
	for _, a := range list {
		name := strings.ReplaceAll(a.Name, "_", "-") // as the flags of components are read
		a = Arg{Name: name, Value: a.Value, Text: name + "=" + a.Value}
		if !Accumulates(name) {
			byFlag[name] = nil
		}
		byFlag[name] = append(byFlag[name], a)
	}
	return slices.Concat(lists.Map(lists.Keys(byFlag), func(name string) []Arg { return byFlag[name] })...)
}
