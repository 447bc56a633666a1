// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
)

// What a server answers is kept in memory, so there are bounds. No honest answer comes
// close: from its cache an API server answers with a whole list at once, which is 150 MB
// of JSON for 5,000 nodes of 30 kB each, and a page of 500 objects of 1 MiB, the most
// that etcd takes by default, is 500 MiB.
const (
	// largestAnswer is how many bytes one answer may have, unpacked.
	largestAnswer = 640 << 20
	// mostPages is how many pages a list may have: of a million objects. Kubernetes is
	// made for 150,000 pods in a cluster.
	mostPages = 2000
	// memoryShare is the part of GOMEMLIMIT that one answer may have: while it is read and decoded, it is kept several times.
	memoryShare = 8
)

// bounds are those of a client.
type bounds struct {
	answer int64 // bytes
	pages  int   // of a list
}

// usual are the bounds of this process.
func usual() bounds {
	return bounds{min(largestAnswer, debug.SetMemoryLimit(-1)/memoryShare), mostPages}
}

// TooLarge means that a server answers without an end. It is not asked again.
type TooLarge struct{ what string }

func (e *TooLarge) Error() string {
	return "the API server answers with " + e.what + ", which is more than any cluster has; check the address, the proxies in between, and GOMEMLIMIT, which limits an answer to an eighth of it"
}

// limitedBody ends an answer that has more than a number of bytes.
type limitedBody struct {
	next http.RoundTripper
	most int64
}

func (b *limitedBody) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(req)
	if err != nil || req.URL.Query().Get("watch") == "true" { // a watch has no end, and bounds each of its events
		return res, err
	}
	res.Body = &boundedBody{res.Body, b.most, b.most}
	return res, nil
}

type boundedBody struct {
	io.ReadCloser
	left, most int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &TooLarge{fmt.Sprintf("more than %d bytes", b.most)}
	}
	return n, err
}
