// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// IsName reports whether Kubernetes takes a name for an object of most kinds: a
// DNS subdomain.
func IsName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// IsNamespace reports whether Kubernetes takes a name for a namespace: a DNS label.
func IsNamespace(name string) bool { return len(validation.IsDNS1123Label(name)) == 0 }

// CheckNames fails for an object whose name or namespace Kubernetes would refuse. A
// file may leave both out.
func CheckNames(metadata yamledit.Node) error {
	name, namespace := metadata.Get("name"), metadata.Get("namespace")
	if s, is := name.String(); is && s != "" && !IsName(s) {
		return name.Errorf("not a name that Kubernetes accepts", "use lower case letters, digits, dashes and dots, at most 253, and a letter or digit at both ends")
	}
	if s, is := namespace.String(); is && s != "" && !IsNamespace(s) {
		return namespace.Errorf("not a namespace that Kubernetes accepts", "use lower case letters, digits and dashes, at most 63, and a letter or digit at both ends")
	}
	return nil
}
