// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestHostNamesAreReadOneNodePerLine(t *testing.T) {
	names, err := ReadHostNames("names.txt", []byte("# of the machines\nip-10-0-1-5.ec2.internal IP-10-0-1-5.ec2.internal\r\n\nquay-2\tquay-2b\npier-3 \n"))
	assert.Truef(t, err == nil && slices.Equal(names.Changes(), []string{"quay-2 to quay-2b"}) && slices.Equal(names.Unknown(), []string{"pier-3"}) && !names.Equal(), "%v, %v", names, err)
	for text, equal := range map[string]bool{"a a\nb b\nb b\n": true, "a a\nb\n": false, "a a\nb c\n": false, "": false} {
		names, err := ReadHostNames("names.txt", []byte(text))
		assert.Truef(t, err == nil && names.Equal() == equal, "%q: %v, %v", text, names, err)
	}
	for _, text := range []string{"a a\nb c d\n", "a a\na b\n", "a a\na\n"} {
		_, err := ReadHostNames("names.txt", []byte(text))
		assert.Truef(t, err != nil && strings.HasPrefix(err.Error(), "names.txt:2: "), "%q: %v", text, err)
	}
}
