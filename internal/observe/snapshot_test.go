// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

func packed(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, text)
	z.Close()
	return b.Bytes()
}

const snapshotText = `{"apiVersion":"rke-lm/v1","kind":"Snapshot","taken":"2025-03-11T10:02:44Z","nodes":[],"loadBalancers":[]}`

// It reports what is wrong with the snapshot, and not with the network; and another
// snapshot may be compared with.
func TestASnapshotThatCannotBeReadIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		data map[string][]byte
		want string
	}{
		"nothing in it":         {nil, "it has no snapshot in"},
		"something else":        {map[string][]byte{"snapshot.json.gz": []byte("not gzip")}, "it has no snapshot in"},
		"half of it":            {map[string][]byte{"snapshot.json.gz": packed(snapshotText)[:40]}, "its snapshot is damaged"},
		"one that was edited":   {map[string][]byte{"snapshot.json.gz": packed(strings.Replace(snapshotText, "taken", "token", 1))}, "its snapshot was changed manually, or by another rke-lm:"},
		"one of a later rke-lm": {map[string][]byte{"snapshot.json.gz": packed(strings.Replace(snapshotText, "rke-lm/v1", "rke-lm/v2", 1))}, "it is not a Snapshot of rke-lm/v1"},
	} {
		t.Run(name, func(t *testing.T) {
			onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
				s.ConfigMaps[observe.SnapshotName] = corev1.ConfigMap{BinaryData: c.data}
				ob := observer(t, s, time.Second)
				_, err := ob.Observe(t.Context())
				assert.True(t, err != nil && !errors.As(err, new(*kube.Unreached)) && strings.Contains(err.Error(), c.want) && strings.Contains(err.Error(), "--against FILE, or delete the ConfigMap"), err)
				ob.Before = &observed.Snapshot{Reached: "install-ccm"}
				assert.Equal(t, assert.Value(ob.Observe(t.Context()))(t).Before, ob.Before)
			})
		})
	}
}

func TestASnapshotOfAnotherVersionInAFileIsReported(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: rke-lm/v2\nkind: Snapshot\nlater: true\n": "it is not a Snapshot of rke-lm/v1",
		"apiVersion: rke-lm/v1\nkind: Snapshot\nlater: true\n": "its snapshot was changed manually, or by another rke-lm:",
		"apiVersion: rke-lm/v1\nkind: Observation\n":           "it is not a Snapshot",
	} {
		file := filepath.Join(t.TempDir(), "before.yaml")
		assert.NilError(t, os.WriteFile(file, []byte(text), 0o600))
		assert.Error(observe.ReadSnapshot(file))(t, want, text)
	}
}

// big is a snapshot of so many nodes, of which no two are alike.
func big(nodes int) observed.Snapshot {
	s := observed.Snapshot{APIVersion: observed.APIVersion, Kind: observed.SnapshotKind}
	var r [36]byte
	for range nodes {
		rand.Read(r[:])
		s.Nodes = append(s.Nodes, observed.NodeIdentity{
			Name: fmt.Sprintf("ip-10-%d-%d-%d.eu-west-1.compute.internal", r[0], r[1], r[2]), ProviderID: fmt.Sprintf("aws:///eu-west-1a/i-%017x", r[3:11]),
			UID: fmt.Sprintf("%x-%x-%x-%x-%x", r[12:16], r[16:18], r[18:20], r[20:22], r[22:28]),
		})
	}
	return s
}

func TestASnapshotOfFiveThousandNodesFitsIntoAConfigMap(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		ob := observer(t, s, time.Second)
		assert.NilError(t, ob.KeepSnapshot(t.Context(), big(5000)))
		got := len(s.ConfigMaps[observe.SnapshotName].BinaryData["snapshot.json.gz"])
		assert.Truef(t, got <= 1<<19, "%d bytes", got)
		s.Do(func() { clear(s.ConfigMaps) })
		err := ob.KeepSnapshot(t.Context(), big(40000))
		assert.True(t, err != nil && strings.Contains(err.Error(), "--snapshot=FILE") && len(s.ConfigMaps) == 0, err)
	})
}
