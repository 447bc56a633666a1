// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

const withSecrets = `apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: north}
    spec: {providerID: "aws:///eu-west-1a/i-0abc1234def567890?sig=hunter2x"}
  - apiVersion: v1
    kind: Node
    metadata: {name: south}
    spec: {providerID: "aws:///eu-west-1b/i-0abc1234def567891"}
  - apiVersion: coordination.k8s.io/v1
    kind: Lease
    metadata: {name: cloud-controller-manager, namespace: kube-system}
    spec: {holderIdentity: "north_token=hunter2x"}
  - apiVersion: coordination.k8s.io/v1
    kind: Lease
    metadata: {name: kube-controller-manager, namespace: kube-system}
    spec: {holderIdentity: south_5d0c6a44-2b17-4f4e-8f53-9c2b7f0f1d62}
`

func TestNoSecretOfAHolderOrAProviderIDIsKept(t *testing.T) {
	o := assert.Value(ReadDumpFrom("in.yaml", strings.NewReader(withSecrets)))(t)
	text := assert.Value(json.Marshal(o))(t)
	assert.True(t, !strings.Contains(string(text), "hunter2x"), text)
	assert.ContainsAll(t, string(text), []string{"aws:///eu-west-1a/i-0abc1234def567890?", "aws:///eu-west-1b/i-0abc1234def567891", "north_token=", "south_5d0c6a44-2b17-4f4e-8f53-9c2b7f0f1d62"})
}

func TestADumpAboveTheBoundIsRefused(t *testing.T) {
	const size = int64(len(withSecrets))
	assert.Value(readDump("in", strings.NewReader(withSecrets), "", size))(t)
	assert.Error(readDump("in", strings.NewReader(withSecrets), "", size-1))(t, "in: the dump is larger than 0 MiB, so it is not read; use ")
	file := assert.Value(os.Create(filepath.Join(t.TempDir(), "dump.yaml")))(t)
	defer file.Close()
	assert.NilError(t, file.Truncate(maxDump+1))
	assert.Error(ReadDumpFrom("in", file))(t, "larger than 1024 MiB")
	assert.Equal(t, assert.Value(file.Seek(0, io.SeekCurrent))(t), 0, "bytes that were read")
}
