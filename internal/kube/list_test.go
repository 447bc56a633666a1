// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// listed serves a list of pods by pages, in protobuf, and notes the requests.
// before answers in its place where it returns true.
func listed(t *testing.T, all int, before func(http.ResponseWriter, *http.Request) bool) (*Client, *[]string) {
	t.Helper()
	var asked []string
	return answering(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		if before != nil && before(w, r) {
			return
		}
		q := r.URL.Query()
		from, _ := strconv.Atoi(q.Get("continue"))
		to, next := all, ""
		if limit, _ := strconv.Atoi(q.Get("limit")); limit > 0 && from+limit < all && q.Get("resourceVersion") != "0" {
			to = from + limit
			next = strconv.Itoa(to)
		}
		list := pods(all)
		list.Items, list.Continue = list.Items[from:to], next
		w.Write(enveloped(t, "PodList", list))
	}), &asked
}

// enveloped is an object as an API server sends it in protobuf.
func enveloped(t *testing.T, kind string, o interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	raw := assert.Value(o.Marshal())(t)
	body := assert.Value((&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}).Marshal())(t)
	return append([]byte("k8s\x00"), body...)
}

var listPods = Resource{Version: "v1", Name: "pods", Kind: "PodList"}

// wanted are the names of so many pods.
func wanted(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint(i))
	}
	return list
}

func TestAListIsReadByPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			options metav1.ListOptions
			want    string
		}{
			{metav1.ListOptions{}, "[limit=500 continue=500&limit=500 continue=1000&limit=500]"},
			{metav1.ListOptions{LabelSelector: "a=b", FieldSelector: "c=d"}, "[fieldSelector=c%3Dd&labelSelector=a%3Db&limit=500 continue=500&fieldSelector=c%3Dd&labelSelector=a%3Db&limit=500 continue=1000&fieldSelector=c%3Dd&labelSelector=a%3Db&limit=500]"},
			{metav1.ListOptions{ResourceVersion: "0"}, "[limit=500&resourceVersion=0]"},
		} {
			client, asked := listed(t, 1200, nil)
			r := listPods
			r.Options = c.options
			kept, err := Collect(t.Context(), client, r, names)
			assert.Truef(t, err == nil && slices.Equal(kept, wanted(1200)) && fmt.Sprint(*asked) == c.want, "%d pods, %v: %v", len(kept), err, *asked)
		}
	})
}

// expired is what an API server says of a token whose state of the cluster is gone.
const expired = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"The provided continue parameter is too old to display a consistent list result"}`

func TestAListThatExpiresBetweenItsPagesIsOneStateOfTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, asked := listed(t, 1200, func(w http.ResponseWriter, r *http.Request) bool {
			old := r.URL.Query().Get("continue") == "1000"
			if old {
				answer(http.StatusGone, expired)(w, r)
			}
			return old
		})
		kept, err := Collect(t.Context(), client, listPods, names)
		assert.Truef(t, err == nil && slices.Equal(kept, wanted(1200)) && fmt.Sprint(*asked) == "[limit=500 continue=500&limit=500 continue=1000&limit=500 ]", "%d pods, %v: %q", len(kept), err, *asked)
	})
}

func TestAListThatIsNotReadWholeIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		want   string
		answer http.HandlerFunc
	}{
		"it always expires":        {"list pods: the API server answers 410: The provided continue parameter", answer(http.StatusGone, expired)},
		"a right is missing":       {"list pods: the API server answers 403", code(http.StatusForbidden)},
		"the token expires":        {"list pods: the API server answers 401", code(http.StatusUnauthorized)},
		"a page ends early":        {"list pods: unexpected EOF", cut},
		"it is damaged":            {"list pods: ", answer(200, `{"kind":"PodList","metadata":{},"items":1}`)},
		"its envelope is damaged":  {"list pods: the answer is no PodList", answer(200, "k8s\x00\x0a\xff")},
		"its kind is damaged":      {"list pods: the answer is no PodList", answer(200, "k8s\x00\x0a\x02\xff\xff")},
		"half of it is there":      {"list pods: the answer is no PodList", answer(200, string(enveloped(t, "PodList", pods(2))[:2000]))},
		"the same page comes back": {"list pods: the API server returns the same page forever", answer(200, `{"kind":"PodList","metadata":{"continue":"again"}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, asked := listed(t, 1200, func(w http.ResponseWriter, r *http.Request) bool {
					late := r.URL.Query().Get("limit") == "" || r.URL.Query().Get("continue") != ""
					if late {
						c.answer(w, r)
					}
					return late
				})
				kept, err := Collect(t.Context(), client, listPods, names)
				assert.Truef(t, kept == nil && err != nil && strings.HasPrefix(err.Error(), c.want), "%d pods, %v: %q", len(kept), err, *asked)
				assert.Truef(t, errors.As(err, new(*Unreached)) || errors.As(err, new(*Failure)), "%T", err)
			})
		})
	}
}

func TestACustomResourceIsListedInJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := answering(t, func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, r.Header.Get("Accept"), "application/json", "it asks for")
			w.Write([]byte(`{"kind":"ClusterList","metadata":{},"items":[{"metadata":{"name":"orchard"}}]}`))
		})
		kept, err := CollectAs(t.Context(), client, Resource{Version: "x/v1", Name: "clusters", Kind: "ClusterList"}, func(raw []byte) (string, error) { return string(raw), nil })
		assert.Truef(t, err == nil && slices.Equal(kept, []string{`{"metadata":{"name":"orchard"}}`}), "%v %v", kept, err)
	})
}

func TestASecretIsReadByItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := answering(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/k8s/clusters/local/api/v1/namespaces/fleet-default/secrets/there":
				w.Write(enveloped(t, "Secret", &corev1.Secret{Data: map[string][]byte{"plan": []byte("text")}}))
			case "/k8s/clusters/local/api/v1/namespaces/fleet-default/secrets/damaged":
				w.Write([]byte(`{"kind":"Secret","data":1}`))
			default:
				http.NotFound(w, r)
			}
		})
		s, err := GetSecret(t.Context(), client, "fleet-default", "there")
		assert.Truef(t, err == nil && string(s.Data["plan"]) == "text", "%v %v", s, err)
		s, err = GetSecret(t.Context(), client, "fleet-default", "gone")
		assert.Truef(t, s == nil && err == nil, "%v %v", s, err)
		s, err = GetSecret(t.Context(), client, "fleet-default", "damaged")
		assert.Truef(t, s == nil && errors.As(err, new(*Unreached)), "%v %v", s, err)
	})
}
