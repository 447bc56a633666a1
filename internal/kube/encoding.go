// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"compress/gzip"
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

// unpacked chooses the encoding of answers, and unpacks them.
type unpacked struct {
	next http.RoundTripper
	pace pace
}

func (u *unpacked) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	req = req.Clone(req.Context())
	req.Header.Set("Accept-Encoding", u.pace.encoding())
	res, err := u.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	packed := res.Header.Get("Content-Encoding") == "gzip"
	body := &unpackedBody{packed: res.Body, content: res.Body, end: func(size int) { u.pace.note(packed, size, time.Since(start)) }}
	if packed {
		res.Header.Del("Content-Encoding")
		res.ContentLength = -1
		body.content = nil
	}
	res.Body = body
	return res, nil
}

// unpackedBody reads the content of a body. What follows the compressed part is read
// as well: a body may be cut there, and only a connection that was read to the end is
// used again.
type unpackedBody struct {
	packed  io.ReadCloser
	content io.Reader // nil before the first byte is unpacked
	size    int
	end     func(size int)
}

func (b *unpackedBody) Read(p []byte) (int, error) {
	if b.content == nil {
		z, err := gzip.NewReader(b.packed)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // nothing at all is no compressed text
		}
		if err != nil {
			return 0, err
		}
		b.content = z
	}
	n, err := b.content.Read(p)
	b.size += n
	if err != io.EOF {
		return n, err
	}
	if _, err := io.Copy(io.Discard, b.packed); err != nil {
		return n, err
	}
	b.end(b.size)
	return n, io.EOF
}

// Close implements io.Closer.
func (b *unpackedBody) Close() error { return b.packed.Close() }
