// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
)

// block is a manifest of docs/permissions.md, below what says on which cluster it belongs.
var block = regexp.MustCompile("(?s)(On [^\n]*):\n\n```yaml\n(.*?)```\n")

// subject is the cluster that the roles are for.
type subject struct {
	other           string // the distro that it is not of, as the documentation calls it
	namespace, name string // "" and the ID for RKE1
}

// title is how a command line names the cluster.
func (s subject) title() string { return strings.TrimPrefix(s.namespace+"/"+s.name, "/") }

// documented returns the roles of a verb: on Rancher's own cluster, and on the cluster itself.
func (s subject) documented(t *testing.T, verb string) (local, downstream string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "<!-- "+verb+" -->\n")
	part, _, found := strings.Cut(rest, "<!-- /"+verb+" -->\n")
	if !found {
		t.Fatalf("docs/permissions.md has no roles for %s", verb)
	}
	for _, m := range block.FindAllStringSubmatch(part, -1) {
		roles := strings.NewReplacer("<namespace>", s.namespace, "<name>", s.name, "<id>", s.name).Replace(m[2])
		switch {
		case strings.Contains(m[1], s.other):
		case strings.HasPrefix(m[1], "On Rancher's own cluster"):
			local = roles
		default:
			downstream = roles
		}
	}
	return local, downstream
}

// bind gives the user these roles, and takes the others from them.
func (l *lab) bind(c kubernetes.Interface, roles string) {
	l.Helper()
	ctx, rbac := l.Context(), c.RbacV1()
	check := func(err error) {
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
			l.Fatal(err)
		}
	}
	const mine = "test.rke-lm/bound"
	own, all := metav1.ListOptions{LabelSelector: mine}, metav1.DeleteOptions{}
	check(rbac.ClusterRoleBindings().Delete(ctx, rancher.User, all))
	check(rbac.ClusterRoleBindings().DeleteCollection(ctx, all, own))
	for _, namespace := range []string{rancher.Namespace, metav1.NamespaceSystem, metav1.NamespaceDefault, l.cluster.ID} {
		check(rbac.RoleBindings(namespace).DeleteCollection(ctx, all, own))
	}
	user := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: rancher.User}}
	for _, text := range strings.Split(roles, "---\n") {
		var role rbacv1.Role
		if err := yaml.UnmarshalStrict([]byte(text), &role); err != nil || role.Kind == "" {
			l.Fatalf("%v\n%s", err, text)
		}
		role.Labels = map[string]string{mine: ""}
		at := metav1.ObjectMeta{Name: role.Name, Namespace: role.Namespace, Labels: role.Labels}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: role.Name}
		var err, bound error
		if role.Kind == "ClusterRole" {
			_, err = rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: at, Rules: role.Rules}, metav1.CreateOptions{})
			_, bound = rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: at, RoleRef: ref, Subjects: user}, metav1.CreateOptions{})
		} else {
			_, err = rbac.Roles(role.Namespace).Create(ctx, &role, metav1.CreateOptions{})
			_, bound = rbac.RoleBindings(role.Namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: at, RoleRef: ref, Subjects: user}, metav1.CreateOptions{})
		}
		check(err)
		check(bound)
	}
}

// The roles of the documentation are enough for their verbs, as kube-apiserver reads them.
func TestTheDocumentedRolesAreEnough(t *testing.T) {
	withRKE2(t).rolesAreEnough(subject{other: "RKE1", namespace: rancher.Namespace, name: "lab"}, "patch clusters.provisioning.cattle.io lab in fleet-default")
}

func TestTheDocumentedRolesAreEnoughForRKE(t *testing.T) {
	l := &lab{T: t, Server: started(t)}
	d, err := l.AddRKE1(t.Context(), document(t, rke1Cluster), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	l.connect(d)
	l.rolesAreEnough(subject{other: "RKE2", name: d.ID}, "patch clusters.management.cattle.io "+d.ID)
}

// rolesAreEnough runs every verb with its roles alone, and one with those of another, which lacks a right.
func (l *lab) rolesAreEnough(of subject, lacks string) {
	t := l.T
	program, token := filepath.Join(t.TempDir(), "rke-lm"), filepath.Join(t.TempDir(), "token")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/rke-lm")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(token, []byte(l.Token()), 0o600); err != nil {
		t.Fatal(err)
	}
	local, err := l.Server.Local.Client(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	downstream, err := l.cluster.Cluster.Client(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		args = append(args, "--rancher-url", l.URL(), "--cacert", l.CA(), "--token-file", token)
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = []string{"HOME=" + filepath.Dir(token)} // nothing of whoever runs the tests
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, c := range []struct {
		verb string
		args []string
	}{
		{"status", []string{"status"}},
		{"plan", []string{"plan", "--cluster", of.title()}},
		{"apply", []string{"apply", "--next", "--cluster", of.title()}},
		{"verify", []string{"verify", "--cluster", of.title()}},
		{"owners", []string{"owners", "--for", "2s", "--cluster", of.title()}},
		{"migrate", []string{"migrate", "--yes", "--until", "enable-leader-migration", "--end-state", "external", "--cluster", of.title()}},
		{"rollback", []string{"rollback", "--yes", "--canonical", "--to", "grant-migration-lease", "--end-state", "external", "--cluster", of.title()}},
	} {
		here, there := of.documented(t, c.verb)
		l.bind(local, here)
		if there != "" {
			l.bind(downstream, there)
		}
		eventually(t, c.verb+" without an error", func(context.Context) (bool, string) {
			out, err := run(c.args...)
			return err == nil, out
		})
	}
	// The roles of one verb are not enough for the next.
	here, _ := of.documented(t, "plan")
	l.bind(local, here)
	out, err := run("apply", "--next", "--cluster", of.title())
	if err == nil || !strings.Contains(out, lacks) {
		t.Errorf("apply with the roles of plan: %v\n%s", err, out)
	}
}
