// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// longAnswer is the size from which the way of an answer says how fast it is.
	longAnswer = 1 << 20
	// fastNetwork is a pace of compressed answers, in bytes of content a second, that
	// leaves open whether the network or the server's compression sets it.
	fastNetwork = 30 << 20
)

// pace chooses whether long answers come compressed, by how fast they came so far.
// Far from the server compression pays many times; near it, it takes the server as
// long as all the rest.
type pace struct {
	mu            sync.Mutex
	plain, packed float64 // bytes of content a second; 0 where there was none
}

// encoding returns what the next answer is to come in.
func (p *pace) encoding() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.plain > p.packed || p.plain == 0 && p.packed > fastNetwork {
		return "identity"
	}
	return "gzip"
}

func (p *pace) note(packed bool, size int, took time.Duration) {
	if size < longAnswer {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rate := float64(size) / took.Seconds()
	if packed {
		p.packed = rate
		return
	}
	p.plain = rate
}

func isPacked(res *http.Response) bool { return res.Header.Get("Content-Encoding") == "gzip" }

// readAll reads a whole body, in whichever of the two encodings it comes. What is
// behind the compressed part is read as well: a body may be cut there, and only a
// connection that was read to the end is used again. The bound is on the bytes of the
// way and on those of the content.
func readAll(ctx context.Context, res *http.Response, from io.Reader, most int64) ([]byte, error) {
	body := bound(ctx, from, most)
	if !isPacked(res) {
		return io.ReadAll(body)
	}
	packed, err := gzip.NewReader(body)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(bound(ctx, packed, most))
	if err == nil {
		_, err = io.Copy(io.Discard, body)
	}
	return content, err
}
