// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pieceSize is how much of a page is decoded at a time. Decoded it is larger by far.
const pieceSize = 256 << 10

// read decodes a list and keeps what keep makes of it. Fields of protobuf that
// follow each other are a message of their own, so a long list is read as many
// short ones.
func read[T, L any, P listMessage[L]](o content, kept []T, keep func(P, []T) []T) ([]T, error) {
	for left := o.raw; ; {
		piece := left
		if o.protobuf {
			n, err := fields(left, pieceSize)
			if err != nil {
				return nil, err
			}
			piece, left = left[:n], left[n:]
		}
		list := P(new(L))
		if err := (content{piece, o.protobuf}).decode(list, list.Unmarshal); err != nil {
			return nil, err
		}
		kept = keep(list, kept)
		if !o.protobuf || len(left) == 0 {
			return kept, nil
		}
	}
}

// fields returns the length of the first fields that together have a size, or of
// all.
func fields(raw []byte, size int) (int, error) {
	at := 0
	for at < min(size, len(raw)) {
		_, _, n := protowire.ConsumeField(raw[at:])
		if n < 0 {
			return 0, protowire.ParseError(n)
		}
		at += n
	}
	return at, nil
}

// continued returns the token of the next page, or "". In protobuf it is before
// the objects.
func continued[L any, P listMessage[L]](o content) (string, error) {
	if !o.protobuf {
		var head struct {
			metav1.ListMeta `json:"metadata"`
		}
		err := json.Unmarshal(o.raw, &head)
		return head.Continue, err
	}
	n, err := fields(o.raw, 1)
	if err != nil {
		return "", err
	}
	head := P(new(L))
	err = head.Unmarshal(o.raw[:n])
	return head.GetContinue(), err
}
