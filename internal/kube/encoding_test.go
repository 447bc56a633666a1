// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// zipped serves a text compressed, and cuts so many bytes off its end.
func zipped(t *testing.T, text []byte, cut int) *Client {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(text)
	z.Close()
	return answering(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, r.Header.Get("Accept-Encoding"), "gzip", "it asks for")
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed.Bytes()[:packed.Len()-cut])
	})
}

func TestCompressedAnswersAreReadWhole(t *testing.T) {
	text := bytes.Repeat([]byte("a line of text\n"), 10_000)
	for cut, whole := range map[int]bool{0: true, 1: false, 8: false, 100: false} {
		synctest.Test(t, func(t *testing.T) {
			a, err := zipped(t, text, cut).Do(t.Context(), Request{What: "get a text", Method: http.MethodGet, Path: "/"})
			assert.Truef(t, whole == (err == nil) && (!whole || bytes.Equal(a.Body, text)), "without %d bytes: %d of %d bytes, %v", cut, len(a.Body), len(text), err)
		})
	}
}
