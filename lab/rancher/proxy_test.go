// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/cluster"
)

func TestACutIsNoticedAndRestored(t *testing.T) {
	s := started(t)
	client := assert.Value(kubernetes.NewForConfig(through(s, s.Token(), "local")))(t)
	observe := func() error {
		_, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		return err
	}
	assert.NilError(t, observe())
	s.Cut()
	if observe() == nil {
		t.Error("the cut was not noticed")
	}
	s.Restore()
	if err := observe(); err != nil {
		t.Error(err)
	}
	assert.NilError(t, s.Local.RestartAPI(t.Context()))
	if err := observe(); err != nil {
		t.Error("after a restart:", err)
	}
}

func TestWithoutATokenNothingIsShown(t *testing.T) {
	s := started(t)
	token := s.Token()
	s.Revoke(token)
	client, err := kubernetes.NewForConfig(through(s, token, "local"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsUnauthorized(err) {
		t.Error(err)
	}
}

// Rancher lets requests for management.cattle.io through for users who may get the cluster local, and answers all
// others, with whichever token, with a code and nothing else.
func TestManagementIsForThoseWhoMayGetTheClusterLocal(t *testing.T) {
	s := started(t)
	s.Remember(0)
	admin := assert.Value(s.Local.Client(cluster.Admin))(t)
	role := func(name string, rules ...rbacv1.PolicyRule) {
		t.Helper()
		at := metav1.ObjectMeta{Name: name}
		_, err := admin.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: at, Rules: rules}, metav1.CreateOptions{})
		if err == nil {
			_, err = admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
				ObjectMeta: at, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}, Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "user-gate"}},
			}, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	group := func(verb string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{"management.cattle.io", "provisioning.cattle.io"}, Resources: []string{"clusters"}, ResourceNames: names, Verbs: []string{verb}}
	}
	ask := func(token, id, path string) (int, string) {
		t.Helper()
		config := through(s, token, id)
		client := assert.Value(rest.HTTPClientFor(config))(t)
		r := assert.Value(client.Get(config.Host + path))(t)
		defer r.Body.Close()
		body := assert.Value(io.ReadAll(r.Body))(t)
		return r.StatusCode, string(body)
	}
	const guarded, free = "/apis/management.cattle.io/v3/clusters", "/apis/provisioning.cattle.io/v1/clusters"
	token := s.TokenOf("user-gate")
	role("lists", group("list"))
	eventually(t, "the role", func(context.Context) (bool, string) {
		code, body := ask(token, "local", free)
		return code == http.StatusOK, body
	})
	for _, path := range []string{guarded, guarded + "/c-lab00", guarded + "?limit=1", "/apis/management.cattle.io/v3/namespaces/c-lab00/etcdbackups"} {
		if code, body := ask(token, "local", path); code != http.StatusForbidden || body != "" {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	for _, path := range []string{"/apis/management.cattle.io/v3", "/apis/provisioning.cattle.io/v1"} {
		if code, body := ask(token, "local", path); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	for _, id := range []string{"c-m-none", "c-m-real0"} { // whether there is one or not
		want := `{"Cause":null,"Code":{"Code":"Forbidden","Status":403},"FieldName":"","Message":"clusters.management.cattle.io \"` + id + `\" is forbidden: User \"user-gate\" cannot get resource`
		if code, body := ask(token, id, "/version"); code != http.StatusForbidden || !strings.HasPrefix(body, want) {
			t.Errorf("%s: %d %s", id, code, body)
		}
	}
	role("knows", group("get", "c-m-none"))
	eventually(t, "the right to get a cluster that is not there", func(context.Context) (bool, string) {
		code, body := ask(token, "c-m-none", "/version")
		return code == http.StatusNotFound && strings.Contains(body, `"Message":"clusters.management.cattle.io \"c-m-none\" not found"`), body
	})
	role("passes", group("get", "local"))
	eventually(t, "the right", func(context.Context) (bool, string) {
		code, body := ask(token, "local", guarded)
		return code == http.StatusOK, body
	})
	s.Revoke(token)
	for _, c := range []struct{ id, path, body string }{
		{"local", free, `"reason":"Unauthorized"`}, {"c-m-none", "/version", "must authenticate"},
	} {
		if code, body := ask(token, c.id, c.path); code != http.StatusUnauthorized || !strings.Contains(body, c.body) {
			t.Errorf("%s%s: %d %s", c.id, c.path, code, body)
		}
	}
	if code, body := ask(token, "local", guarded); code != http.StatusForbidden || body != "" {
		t.Errorf("%d %s", code, body)
	}
}
