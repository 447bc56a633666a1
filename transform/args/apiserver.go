// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"maps"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
)

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
	return slices.Concat(lists.Map(slices.Sorted(maps.Keys(byFlag)), func(name string) []Arg { return byFlag[name] })...)
}
