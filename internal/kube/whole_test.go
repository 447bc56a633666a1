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
