// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// A refusal says why in whichever form it comes.
func TestTheMessageOfARefusalIsReadInProtobuf(t *testing.T) {
	body := enveloped(t, "Status", &metav1.Status{Message: "nodes is forbidden"})
	f := newFailure(&http.Response{StatusCode: http.StatusForbidden}, Answer{Body: body})
	assert.True(t, f.Message == "nodes is forbidden" && !f.page, f)
}

func pods(n int) *corev1.PodList {
	l := &corev1.PodList{ListMeta: metav1.ListMeta{Continue: "further", ResourceVersion: "7"}}
	for i := range n {
		l.Items = append(l.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Annotations: map[string]string{"filler": strings.Repeat("x", 1000)}}})
	}
	return l
}
func names(p *corev1.Pod, kept []string) []string { return append(kept, p.Name) }

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
