// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

const (
	// SnapshotName is the ConfigMap of kube-system that keeps a snapshot.
	SnapshotName = "rke-lm-snapshot"
	snapshotKey  = "snapshot.json.gz" // 5,000 nodes do not fit into a ConfigMap as text
)

// ErrKept means that a snapshot is there already: the one from before the
// migration is never overwritten.
var ErrKept = transform.NewError(transform.ExitRefused, "a snapshot already exists")

// largest is what a ConfigMap may hold (k8s.io/kubernetes/pkg/apis/core/validation),
// and largestText far more than fits into that as text.
const (
	largest     = 1 << 20
	largestText = 64 << 20
)

// readSnapshot reads the snapshot that the cluster keeps, if there is one.
func (o *Observer) readSnapshot(ctx context.Context, out *observed.Observation) error {
	if out.Before = o.Before; out.Before != nil {
		return nil
	}
	m, err := o.getConfigMap(ctx, managersNamespace, SnapshotName)
	if err != nil || m == nil {
		return err
	}
	s, err := unpack(m.BinaryData[snapshotKey])
	if err != nil {
		return fmt.Errorf("the ConfigMap kube-system/%s: %w; use another snapshot with --against FILE, or delete the ConfigMap", SnapshotName, err)
	}
	out.Before = s
	return nil
}

// KeepSnapshot writes a snapshot into the cluster. It fails with ErrKept where
// another one is there.
func (o *Observer) KeepSnapshot(ctx context.Context, s observed.Snapshot) error {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := errors.Join(json.NewEncoder(z).Encode(s), z.Close()); err != nil { // a time may have a year that JSON has not
		return err
	}
	packed := b.Bytes()
	if len(packed) > largest {
		return fmt.Errorf("the snapshot has %d bytes, and a ConfigMap can have %d; write it to a file with --snapshot=FILE", len(packed), largest)
	}
	m := corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: managersNamespace, Name: SnapshotName},
		BinaryData: map[string][]byte{snapshotKey: packed},
	}
	_, err := o.Do(ctx, kube.Request{What: "create configmaps in kube-system", Method: http.MethodPost, Path: kube.Path("v1", "configmaps", managersNamespace, ""), Body: m})
	if kube.Exists(err) {
		return o.kept(ctx, packed)
	}
	return kube.Refusal(err)
}

// kept accepts a snapshot that an earlier try has written, whose answer got lost.
func (o *Observer) kept(ctx context.Context, packed []byte) error {
	m, err := o.getConfigMap(ctx, managersNamespace, SnapshotName)
	if err != nil {
		return kube.Refusal(err)
	}
	if m != nil && bytes.Equal(m.BinaryData[snapshotKey], packed) {
		return nil
	}
	return fmt.Errorf("the ConfigMap kube-system/%s: %w; write the new one to a file with --snapshot=FILE, or delete the ConfigMap", SnapshotName, ErrKept)
}

func unpack(packed []byte) (*observed.Snapshot, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("it has no snapshot in %s: %w", snapshotKey, err)
	}
	text, err := io.ReadAll(io.LimitReader(z, largestText))
	if err != nil {
		return nil, fmt.Errorf("its snapshot is damaged: %w", err)
	}
	return parseSnapshot(text)
}

// parseSnapshot asks for the version first: fields that are not known are those of
// another one.
func parseSnapshot(text []byte) (*observed.Snapshot, error) {
	var head metav1.TypeMeta
	if err := yaml.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("its snapshot is damaged: %w", err)
	}
	if head.Kind != observed.SnapshotKind || head.APIVersion != observed.APIVersion {
		return nil, fmt.Errorf("it is not a %s of %s, which this program reads", observed.SnapshotKind, observed.APIVersion)
	}
	var s observed.Snapshot
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return nil, fmt.Errorf("its snapshot was changed manually, or by another rke-lm: %w", err)
	}
	return &s, nil
}

// ReadSnapshot reads a snapshot from a file.
func ReadSnapshot(file string) (*observed.Snapshot, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the snapshot: %w; check the path", err)
	}
	s, err := parseSnapshot(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; use a file from verify --snapshot", file, err)
	}
	return s, nil
}

// WriteSnapshot writes a snapshot into a new file. It fails with ErrKept where
// the file is there.
func WriteSnapshot(file string, s observed.Snapshot) error {
	text, err := yaml.Marshal(s)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: %w; use another file", file, ErrKept)
	}
	if err != nil {
		return fmt.Errorf("cannot write the snapshot: %w; use another file", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(file)
	}
	return err
}
