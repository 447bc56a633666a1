// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestUserDataSaysWhatItDoesToHostNamesOrThatIsUnknown(t *testing.T) {
	for text, want := range map[string]hosts{
		"":                                         ofMachines,
		"#cloud-config\npackages: [jq]\n":          ofMachines,
		"#cloud-config\nhostname: heron\n":         oneForAll,
		"#cloud-config\nfqdn: heron.internal\n":    oneForAll,
		"#cloud-config\nhostname: \"{{ v1 }}\"\n":  unclear,
		"#cloud-config\npreserve_hostname: true\n": unclear,
		"#cloud-config\nruncmd: [\"hostnamectl set-hostname x\"]\n": unclear,
		"#cloud-config\nwrite_files: [{path: /etc/hosts}]\n":        unclear,
		"#!/bin/sh\necho ready\n":                                   unclear,
		"Content-Type: multipart/mixed; boundary=x\n":               unclear,
		"#cloud-config\na: [\n":                                     unclear,
	} {
		assert.Equal(t, hostsOf(text), want, text)
	}
}
