// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
)

// What a server answers is kept in memory, so there are bounds. No honest answer comes
// close: from its cache an API server answers with a whole list at once, which is 150 MB
// of JSON for 5,000 nodes of 30 kB each, and a page of 500 objects of 1 MiB, the most
// that etcd takes by default, is 500 MiB.
const (
	// largestAnswer is how many bytes one answer may have, on its way and unpacked.
	largestAnswer = 640 << 20
	// mostPages is how many pages a list may have: of a million objects. Kubernetes is
	// made for 150,000 pods in a cluster.
	mostPages = 2000
)

// bounds are those of a client; 0 means the defaults.
type bounds struct {
	answer int64
	pages  int
}

func (c *Client) largest() int64 { return cmp.Or(c.bounds.answer, largestAnswer) }

func (c *Client) mostPages() int { return cmp.Or(c.bounds.pages, mostPages) }

// TooLarge says that a server answers without an end. It is not asked again.
type TooLarge struct{ what string }

func (e *TooLarge) Error() string {
	return "the API server answers with " + e.what + ", which is more than any cluster has; check the address, and the proxies in between"
}

// bounded reads no more than a number of bytes, and nothing once ctx is over.
type bounded struct {
	ctx  context.Context
	from io.Reader
	left int64
	most int64
}

func bound(ctx context.Context, from io.Reader, most int64) *bounded {
	return &bounded{ctx, from, most, most}
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &TooLarge{fmt.Sprintf("more than %d bytes", b.most)}
	}
	return n, err
}

func endless(err error) bool {
	var e *TooLarge
	return errors.As(err, &e)
}
