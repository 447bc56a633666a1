// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestAnEnvelopeIsOpenedAsItsWriterMeantIt(t *testing.T) {
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Raw: []byte("raw"), ContentType: "application/protobuf"}
	body := assert.Value(u.Marshal())(t)
	o, err := contentOf(Answer{Body: append([]byte("k8s\x00"), body...)}, "PodList")
	assert.Truef(t, err == nil && o.protobuf && string(o.raw) == "raw", "%q, %v", o.raw, err)
	_, err = contentOf(Answer{Body: append([]byte("k8s\x00"), body[:len(body)-2]...)}, "PodList")
	assert.True(t, err != nil, "half an envelope is opened")
}

// A refusal says why in whichever form it comes.
func TestTheMessageOfARefusalIsReadInProtobuf(t *testing.T) {
	raw := assert.Value((&metav1.Status{Message: "nodes is forbidden"}).Marshal())(t)
	body := assert.Value((&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Status"}, Raw: raw}).Marshal())(t)
	f := newFailure(&http.Response{StatusCode: http.StatusForbidden}, Answer{Body: append([]byte("k8s\x00"), body...)})
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
