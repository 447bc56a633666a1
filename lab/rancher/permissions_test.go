// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rancher/wrangler/v3/pkg/crd"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/deploy"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

// block is a manifest of docs/permissions.md, below what says on which cluster it belongs.
var block = regexp.MustCompile("(?s)On (Rancher's own cluster|the cluster itself)(?:, (?:for an|of) (RKE1|RKE2)(?: cluster)?)?:\n\n```yaml\n(.*?)```\n")

// leastUser has the roles of the documentation and nothing else.
const leastUser = "user-least"

// subject is the cluster that the roles are for.
type subject struct {
	rollout.Subject
	format  string // as the documentation calls it
	display string // the name that people use
}

// title is how a command line names the cluster so that it is found without a list.
func (s subject) title() string {
	if s.Home == s.Name {
		return s.Name
	}
	return s.Home + "/" + s.Name
}

// placed is a role on one of the two clusters.
type placed struct {
	local bool
	rbacv1.Role
}

// documented returns the roles of a verb.
func (s subject) documented(t *testing.T, verb string) (list []placed) {
	t.Helper()
	text := assert.Value(os.ReadFile("../../docs/permissions.md"))(t)
	_, rest, _ := strings.Cut(string(text), "<!-- "+verb+" -->\n")
	part, _, found := strings.Cut(rest, "<!-- /"+verb+" -->\n")
	if !found {
		t.Fatalf("docs/permissions.md has no roles for %s", verb)
	}
	for _, m := range block.FindAllStringSubmatch(part, -1) {
		if m[2] != "" && m[2] != s.format {
			continue
		}
		filled := strings.NewReplacer("<namespace>", s.Home, "<name>", s.Name, "<id>", s.ID).Replace(m[3])
		for _, text := range strings.Split(filled, "---\n") {
			p := placed{local: m[1] == "Rancher's own cluster"}
			if err := yaml.UnmarshalStrict([]byte(text), &p.Role); err != nil || p.Kind == "" {
				t.Fatalf("%v\n%s", err, text)
			}
			list = append(list, p)
		}
	}
	return list
}

// left is a rule that is left out of a role.
type left struct {
	from placed
	rule rbacv1.PolicyRule
}

func (l left) String() string {
	return fmt.Sprintf("%v %v.%v %v in %q", l.rule.Verbs, l.rule.Resources, l.rule.APIGroups, l.rule.ResourceNames, l.from.Namespace)
}

// without returns the roles without one of their rules; nil where there are no more.
func without(roles []placed, n int) ([]placed, left) {
	for i, r := range roles {
		if n >= len(r.Rules) {
			n -= len(r.Rules)
			continue
		}
		rule := r.Rules[n]
		r.Rules = slices.Delete(slices.Clone(r.Rules), n, n+1)
		roles = slices.Clone(roles)
		roles[i] = r
		return roles, left{r, rule}
	}
	return nil, left{}
}

// roles are what binds the user.
type roles struct {
	*lab
	local, downstream kubernetes.Interface
	of                subject
	program, token    string
}

// bind gives the user these roles, and takes all others from them.
func (l *roles) bind(list []placed) {
	l.Helper()
	ctx := l.Context()
	check := func(err error) {
		if err != nil && !apierrors.IsNotFound(err) {
			l.Fatal(err)
		}
	}
	const mine = "test.rke-lm/bound"
	own, all := metav1.ListOptions{LabelSelector: mine}, metav1.DeleteOptions{}
	for _, c := range []kubernetes.Interface{l.local, l.downstream} {
		check(c.RbacV1().ClusterRoleBindings().DeleteCollection(ctx, all, own))
		check(c.RbacV1().ClusterRoles().DeleteCollection(ctx, all, own))
		for _, namespace := range []string{rancher.Namespace, metav1.NamespaceSystem, metav1.NamespaceDefault, l.of.Home} {
			check(c.RbacV1().RoleBindings(namespace).DeleteCollection(ctx, all, own))
			check(c.RbacV1().Roles(namespace).DeleteCollection(ctx, all, own))
		}
	}
	user := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: leastUser}}
	for _, role := range list {
		c := l.downstream.RbacV1()
		if role.local {
			c = l.local.RbacV1()
		}
		at := metav1.ObjectMeta{Name: role.Name, Namespace: role.Namespace, Labels: map[string]string{mine: ""}}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: role.Name}
		var err, bound error
		if role.Kind == "ClusterRole" {
			_, err = c.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: at, Rules: role.Rules}, metav1.CreateOptions{})
			_, bound = c.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: at, RoleRef: ref, Subjects: user}, metav1.CreateOptions{})
		} else {
			_, err = c.Roles(role.Namespace).Create(ctx, &rbacv1.Role{ObjectMeta: at, Rules: role.Rules}, metav1.CreateOptions{})
			_, bound = c.RoleBindings(role.Namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: at, RoleRef: ref, Subjects: user}, metav1.CreateOptions{})
		}
		if err != nil || bound != nil {
			l.Fatal(err, bound)
		}
	}
}

// run runs the program in the name of the user.
func (l *roles) run(path string, args ...string) (string, error) {
	args = append(args, "--rancher-url", l.URL(), "--cacert", l.CA(), "--token-file", l.token)
	cmd := exec.CommandContext(l.Context(), l.program, args...)
	cmd.Env = []string{"HOME=" + filepath.Dir(l.token), "PATH=" + path} // nothing of whoever runs the tests
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The roles of the documentation are enough for their verbs, as kube-apiserver and Rancher read them, and no rule
// of them can be left out.
func TestTheDocumentedRolesAreWhatIsNeeded(t *testing.T) {
	l := withRKE2(t)
	l.rolesAreWhatIsNeeded(subject{rollout.Subject{Kind: transform.Provisioning, Home: rancher.Namespace, Name: "lab", ID: l.cluster.ID}, "RKE2", "lab"})
}

func TestTheDocumentedRolesAreWhatIsNeededForRKE(t *testing.T) {
	l := &lab{T: t, Server: started(t)}
	d := assert.Value(l.AddRKE1(t.Context(), document(t, rke1Cluster), 1, 1))(t)
	l.connect(d)
	l.rolesAreWhatIsNeeded(subject{rollout.Subject{Kind: transform.Management, Home: d.ID, Name: d.ID, ID: d.ID}, "RKE1", "legacy"})
}

// invocation is a run of a verb.
type invocation struct {
	verb string
	args []string
}

func (l *lab) rolesAreWhatIsNeeded(of subject) {
	t := l.T
	l.Remember(0) // a refusal that Rancher remembers would be one of the rules before
	r := &roles{lab: l, of: of, program: filepath.Join(t.TempDir(), "rke-lm"), token: filepath.Join(t.TempDir(), "token")}
	assert.NilError(t, build.Tool(t.Context(), r.program))
	assert.NilError(t, os.WriteFile(r.token, []byte(l.TokenOf(leastUser)), 0o600))
	var err error
	if r.local, err = l.Server.Local.Client(cluster.Admin); err != nil {
		t.Fatal(err)
	}
	if r.downstream, err = l.cluster.Cluster.Client(cluster.Admin); err != nil {
		t.Fatal(err)
	}
	at, namespace := clusters, of.Home
	if of.Kind == transform.Management {
		at, namespace = managed, ""
	}
	l.patch(at, namespace, of.Name, `[{"op":"add","path":"/metadata/labels","value":{"env":"lab"}}]`)
	r.pend()
	for _, a := range []invocation{
		{verb: "plan"},
		{verb: "apply", args: []string{"--stage", "grant-migration-lease"}},
		{verb: "verify"},
		{verb: "leaders", args: []string{"--for", "2s"}},
		{verb: "migrate", args: []string{"--yes", "--until", "enable-leader-migration", "--end-state", "external"}},
		{verb: "rollback", args: []string{"--yes", "--canonical", "--to", "grant-migration-lease", "--end-state", "external"}},
	} {
		r.noneCanGo(a) // first: there is nothing to write any more when the stage is done
		before := len(l.Requests())
		r.isEnough(a, of.documented(t, a.verb), "--cluster", of.title())
		needed := slices.DeleteFunc(rollout.Permissions(a.verb, of.Subject), func(n rollout.Access) bool { return a.spares(n.Resource) })
		if unused := rancher.Unused(needed, l.Requests()[before:]); len(unused) > 0 && !a.whole() {
			t.Errorf("%s: no request needed %v", a.verb, unused)
		}
		both := slices.Concat(of.documented(t, a.verb), of.documented(t, "status"))
		r.isEnough(a, both, "--cluster", of.display)
		r.isEnough(a, both, "--cluster", of.ID)
		if a.verb == "plan" || a.verb == "apply" {
			r.isEnough(a, both, "-l", "env=lab")
		}
	}
	r.status()
}

// whole reports whether later stages than the run comes to need some of its rights.
func (a invocation) whole() bool { return a.verb == "migrate" || a.verb == "rollback" }

// spares reports whether a verb reads something only where managers have configurations of their own, as none has
// here.
func (a invocation) spares(resource string) bool {
	return a.verb == "leaders" && resource == "configmaps"
}

// continues reports whether a verb does its work without a rule: a run would change the cluster, and wait for it. No
// Node of these clusters registers again.
func (a invocation) continues(without left) bool {
	return (a.whole() || without.rule.Resources[0] != "events") && slices.ContainsFunc(rollout.Requirements(), func(row action.Permission) bool {
		return (row.Optional || row.When == action.WithRestartCommand) && slices.Contains(row.For, a.verb) && row.Rancher == without.from.local &&
			row.Resource == without.rule.Resources[0] && slices.Equal(row.Verbs, without.rule.Verbs)
	})
}

func (l *roles) isEnough(a invocation, list []placed, how ...string) {
	l.Helper()
	l.bind(list)
	eventually(l.T, a.verb+" "+strings.Join(how, " ")+" without an error", func(context.Context) (bool, string) {
		out, err := l.run("", slices.Concat([]string{a.verb}, a.args, how)...)
		return err == nil, out
	})
}

// noneCanGo leaves one rule out after the other. A rule that is needed under a condition is missed under it.
func (l *roles) noneCanGo(a invocation) {
	l.Helper()
	all := l.of.documented(l.T, a.verb)
	args := slices.Concat([]string{a.verb}, a.args, []string{"--cluster", l.of.title()})
	path := ""
	if a.whole() {
		path = filepath.Dir(l.Helm().Path)
		args = append(args, "--leader-migration-config", "generate", "--cordon", "always")
	}
	if a.verb == "migrate" {
		args = append(args, "--canary-service")
	}
	for n := 0; ; n++ {
		rest, rule := without(all, n)
		if rest == nil {
			return
		}
		if a.spares(rule.rule.Resources[0]) || a.continues(rule) {
			continue
		}
		l.bind(rest)
		l.awaitRemoved(rule)
		restore := l.condition(a, rule)
		before := len(l.Requests())
		out, err := l.run(path, args...)
		restore()
		if (err == nil || !strings.Contains(out, "missing permissions:")) && !strings.Contains(out, "The rules that depend on it are not checked.") && !l.missed(rule, before) {
			l.Errorf("%s does without %s: %v\n%s", a.verb, rule, err, out)
		}
	}
}

// condition gives an RKE2 cluster a configuration of the provider in a Secret while the right to copy it is left
// out, and returns what takes it away.
func (l *roles) condition(a invocation, r left) func() {
	if l.of.Kind != transform.Provisioning || !a.whole() || r.from.local || r.rule.Resources[0] != "secrets" {
		return func() {}
	}
	const config = "/spec/rkeConfig/machineGlobalConfig/cloud-provider-config"
	l.patch(clusters, l.of.Home, l.of.Name, `[{"op":"add","path":"`+config+`","value":"secret://fleet-default:aws-cloud"}]`)
	return func() { l.patch(clusters, l.of.Home, l.of.Name, `[{"op":"remove","path":"`+config+`"}]`) }
}

// pend makes a Service that the cloud controllers give no load balancer, because AWS has none for UDP.
func (l *roles) pend() {
	l.Helper()
	assert.Value(l.downstream.CoreV1().Services(metav1.NamespaceDefault).Create(l.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "pending"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 53, Protocol: corev1.ProtocolUDP}}},
	}, metav1.CreateOptions{}))(l)
}

// missed reports whether a run asked for Events and was refused. It shows in what verify says only when a
// Service has been pending for minutes.
func (l *roles) missed(r left, before int) bool {
	return r.rule.Resources[0] == "events" && slices.ContainsFunc(l.Requests()[before:], func(q rancher.Request) bool {
		used, is := q.Right()
		return is && used.Resource == "events" && used.Verb == "list" && q.Status == http.StatusForbidden
	})
}

// awaitRemoved waits until the API server knows that the user may do nothing of what a rule says.
func (l *roles) awaitRemoved(r left) {
	l.Helper()
	c := l.downstream
	if r.from.local {
		c = l.local
	}
	eventually(l.T, "a rule is gone: "+r.String(), func(ctx context.Context) (bool, string) {
		for _, verb := range r.rule.Verbs {
			at := &authorizationv1.ResourceAttributes{Namespace: r.from.Namespace, Verb: verb, Group: r.rule.APIGroups[0], Resource: r.rule.Resources[0]}
			if len(r.rule.ResourceNames) > 0 {
				at.Name = r.rule.ResourceNames[0]
			}
			printed, err := c.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: leastUser, Groups: []string{"system:authenticated"}, ResourceAttributes: at,
			}}, metav1.CreateOptions{})
			if err != nil || printed.Status.Allowed {
				return false, fmt.Sprint(verb, err)
			}
		}
		return true, ""
	})
}

// status lists the clusters, and without one of its rules says which it may not list.
func (l *roles) status() {
	l.Helper()
	all := l.of.documented(l.T, "status")
	l.isEnough(invocation{verb: "status"}, all)
	assert.NilError(l, deploy.Define(l.Context(), l.Server.Local.Config(cluster.Admin), crd.CRD{GVK: v1alpha1.GroupVersion.WithKind(v1alpha1.MigrationKind)}))
	l.isEnough(invocation{verb: "status"}, all)
	for n := 0; ; n++ {
		rest, rule := without(all, n)
		if rest == nil {
			return
		}
		l.bind(rest)
		l.awaitRemoved(rule)
		out, err := l.run("", "status")
		missed := err != nil && strings.Contains(out, "missing permissions:") && strings.Contains(out, "RKE")
		if rule.rule.APIGroups[0] == v1alpha1.GroupVersion.Group { // the clusters are shown all the same
			missed = err == nil && strings.Contains(out, "LeaderMigrations are not shown")
		}
		if !missed {
			l.Errorf("status does without %s: %v\n%s", rule, err, out)
		}
	}
}
