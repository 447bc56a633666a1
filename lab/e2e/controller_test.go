// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/deploy"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform/live/rights"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// controllerSpace is the namespace of the controller.
const controllerSpace = "rke-lm"

// approver may approve, and nothing else.
const approver = "user-approver"

// controlled is a Rancher whose clusters a controller migrates.
type controlled struct {
	*managed
	all  []*managed // clusters, in the order of their names
	name string     // of the LeaderMigration, and of its label of clusters
	mu   sync.Mutex
}

// control lets a controller have the clusters of a Rancher. It may do what is documented and nothing else.
func (c *managed) control(more ...*scenario) *controlled {
	c.Helper()
	k := &controlled{managed: c, all: []*managed{c}, name: "yes"}
	for i, s := range more {
		d, runs := c.rancher.Downstreams()[i+1], c.runner
		runs.scenario, runs.title = s, rancher.Namespace+"/"+d.Name
		k.all = append(k.all, &managed{runner: runs, rancher: c.rancher, downstream: d})
	}
	k.install(definitions)
	k.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + controllerSpace + "}\n")
	for _, one := range k.all {
		c.mark(one.downstream.Name, `{"labels":{"fleet":"yes"}}`)
		one.least("migrate", "rollback")
	}
	c.least("controller")
	k.apply("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: approver, namespace: " + controllerSpace + "}\nrules: [{apiGroups: [rke-lm.io], resources: [leadermigrationapprovals], verbs: [create]}]\n")
	k.apply("apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: approver, namespace: " + controllerSpace + "}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: approver}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: " + approver + "}]\n")
	return k
}

// install applies the definitions as kubectl does, and waits until they are served.
func (k *controlled) install(file string) {
	k.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		k.Fatal(err)
	}
	for _, one := range strings.Split(string(text), "---\n")[1:] {
		k.apply(one)
	}
	k.eventually("the definitions", func(ctx context.Context) bool {
		_, err := k.objects(v1alpha1.MigrationResource, cluster.Admin).List(ctx, metav1.ListOptions{})
		_, failed := k.objects(v1alpha1.ApprovalResource, cluster.Admin).List(ctx, metav1.ListOptions{})
		return err == nil && failed == nil
	})
}

// apply applies an object to Rancher's own cluster.
func (k *controlled) apply(text string) {
	k.Helper()
	to, err := deploy.NewApplier(k.rancher.Local.Config(cluster.Admin))
	if err == nil {
		err = to.Apply(k.Context(), []byte(text))
	}
	if err != nil {
		k.Fatal(err)
	}
}

// objects are those of the controller, for a user.
func (k *controlled) objects(resource, user string) dynamic.ResourceInterface {
	k.Helper()
	config := rest.CopyConfig(k.rancher.Local.Config(cluster.Admin))
	if user != cluster.Admin {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		k.Fatal(err)
	}
	return client.Resource(v1alpha1.GroupVersion.WithResource(resource)).Namespace(controllerSpace)
}

// approve makes an approval in the name of a user.
func (k *controlled) approve(user, wave, stage string) error {
	k.Helper()
	spec := map[string]any{"migration": k.name, "wave": wave}
	if stage != "" {
		spec["stage"] = stage
	}
	_, err := k.objects(v1alpha1.ApprovalResource, user).Create(k.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.ApprovalKind, "metadata": map[string]any{"generateName": "approval-"}, "spec": spec,
	}}, metav1.CreateOptions{})
	return err
}

// migration makes the LeaderMigration.
func (k *controlled) migration(spec string) {
	k.Helper()
	k.apply("apiVersion: rke-lm.io/v1alpha1\nkind: LeaderMigration\nmetadata: {name: \"" + k.name + "\", namespace: " + controllerSpace + "}\nspec:\n" +
		"  selector: {matchLabels: {fleet: \"" + k.name + "\"}}\n  options: {end-state: external, chart-repo: \"" + k.rancher.Charts() + "\"}\n  timeout: 5m\n" + spec)
}

// now is the LeaderMigration as it is.
func (k *controlled) now() *v1alpha1.LeaderMigration {
	k.Helper()
	o, err := k.objects(v1alpha1.MigrationResource, cluster.Admin).Get(k.Context(), k.name, metav1.GetOptions{})
	if err != nil {
		k.Fatal(err)
	}
	var lm v1alpha1.LeaderMigration
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &lm); err != nil {
		k.Fatal(err)
	}
	return &lm
}

// becomes waits until a condition is true for a reason; "" for any.
func (k *controlled) becomes(condition, reason string) {
	k.Helper()
	deadline := time.Now().Add(endless)
	for time.Now().Before(deadline) {
		c := meta.FindStatusCondition(k.now().Status.Conditions, condition)
		if c != nil && c.Status == metav1.ConditionTrue && (reason == "" || c.Reason == reason) {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	text, _ := json.MarshalIndent(k.now().Status, "", "  ")
	k.Fatalf("%s is not true for %q: %s\n%s", condition, reason, text, k.timelineText())
}

// over are the states of the clusters, as name=state.
func (k *controlled) over() string {
	k.Helper()
	var list []string
	for _, c := range k.now().Status.Clusters {
		list = append(list, strings.TrimPrefix(c.Name, rancher.Namespace+"/")+"="+c.State)
	}
	return strings.Join(list, " ")
}

// process is a controller that runs.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// run starts a controller. heard is called with every event of its runs.
func (k *controlled) run(heard func(*process, report.RunEvent)) *process {
	k.Helper()
	program, err := tool()
	if err != nil {
		k.Fatal(err)
	}
	p := &process{cmd: exec.Command(program, "controller", "-o", "json", "--namespace", controllerSpace, "--rancher-url", k.rancher.URL(), "--cacert", k.rancher.CA(),
		"--audit-log", k.auditLog, "--lease-duration", "6s"), ended: make(chan struct{})}
	p.cmd.Env = append(k.rancher.Helm().Environment(), "RANCHER_TOKEN="+k.token, "PATH="+filepath.Dir(k.rancher.Helm().Path)+":"+os.Getenv("PATH"))
	p.cmd.Stderr = k.logs
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		k.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var e report.RunEvent
			if json.Unmarshal(lines.Bytes(), &e) == nil && e.Kind == "RunEvent" && heard != nil {
				heard(p, e)
			}
		}
		_ = p.cmd.Wait()
	}()
	k.Cleanup(func() { p.kill() })
	return p
}

// kill ends a controller as nothing else does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// stop ends it as Kubernetes does.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.ended
}

// upon calls what happens once, where a stage of a cluster is announced or written.
func upon(name, kind, stage string, do func(*process)) func(*process, report.RunEvent) {
	var once sync.Once
	return func(p *process, e report.RunEvent) {
		if e.Type == kind && e.Stage == stage && strings.HasSuffix(e.Cluster, "/"+name) {
			once.Do(func() { go do(p) })
		}
	}
}

// unlocked requires that no lock of a cluster is left, and no cordon.
func (k *controlled) unlocked() {
	k.Helper()
	client, err := k.rancher.Local.Client(cluster.Admin)
	if err != nil {
		k.Fatal(err)
	}
	for _, one := range k.all {
		if nodes := one.cordoned(); len(nodes) > 0 {
			k.Errorf("%s: %v stayed cordoned", one.downstream.Name, nodes)
		}
		_, err := client.CoordinationV1().Leases(rancher.Namespace).Get(k.Context(), "rke-lm-"+one.downstream.Name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			k.Errorf("%s: its lock is left: %v", one.downstream.Name, err)
		}
	}
}

// Three waves over three clusters, with approvals that come late. The controller is killed at the switch of the first
// one, and stopped while another one waits; the second cluster fails, is rolled back, and keeps the third from starting.
func TestLeaderMigrationsOverThreeClustersOfARancher(t *testing.T) {
	t.Parallel()
	c := rke2Cluster(t)
	k := c.control(c.also("second"), c.also("third"))
	second := k.all[1]
	for _, one := range k.all {
		one.serve("first")
	}
	k.migration("  approval: wave\n  rollbackOnFailure: true\n  waves: [{name: canary, size: 1}, {name: two, size: 1}, {name: three}]\n")
	killed := make(chan struct{})
	k.run(upon("lab", migrate.Written, stages.SwitchToExternal, func(p *process) {
		p.kill()
		close(killed)
	}))
	k.becomes(v1alpha1.Waiting, "ApprovalRequired")
	k.explained()
	k.listed(map[string]string{"NAME": k.name, "WAVE": "canary", "TOTAL": "3", "DONE": "0", "RUNNING": "0", "FAILED": "0", "COMPLETE": "False", "WAITING": "ApprovalRequired"})
	if err := k.approve("user-without", "canary", ""); !apierrors.IsForbidden(err) {
		t.Errorf("a user without permission approved: %v", err)
	}
	if err := k.approve(approver, "canary", ""); err != nil {
		t.Fatal(err)
	}
	<-killed
	dead := k.leader()

	stopped := make(chan struct{})
	conflict := upon("second", migrate.Written, stages.GrantMigrationLease, func(*process) {
		edits := func(r rancher.Request) bool {
			return r.Method == http.MethodPatch && strings.HasSuffix(r.Path, "/clusters/second")
		}
		c.rancher.Before(edits, func() {
			second.patch(`[{"op":"add","path":"/spec/rkeConfig/machineGlobalConfig/kube-controller-manager-arg/0","value":"v=3"}]`)
		})
	})
	first := k.run(upon("lab", migrate.Staged, stages.DisableLeaderMigration, func(p *process) {
		p.stop()
		close(stopped)
	}))
	k.eventually("another leader", func(context.Context) bool { return k.leader() != "" && k.leader() != dead })
	k.run(conflict)
	<-stopped
	<-first.ended
	k.becomes(v1alpha1.Waiting, "ApprovalRequired")
	if got := k.over(); got != "lab=done second=waiting third=waiting" {
		t.Fatal(got)
	}
	if err := k.approve(approver, "two", ""); err != nil {
		t.Fatal(err)
	}
	k.becomes(v1alpha1.Failed, "TooManyFailures")
	k.becomes(v1alpha1.Waiting, "TooManyFailures")
	for k.now().Status.Counts.Running > 0 { // it is rolled back
		time.Sleep(time.Second)
	}
	if got := k.over(); got != "lab=done second=failed third=waiting" || !k.now().Status.Clusters[1].RolledBack {
		text, _ := json.MarshalIndent(k.now().Status, "", "  ")
		t.Fatalf("%s %s", got, text)
	}
	k.unlocked()
	for _, one := range k.now().Status.Clusters {
		if one.TwoOwnersSeconds != 0 {
			t.Errorf("%+v", one)
		}
	}
	k.elsewhere("third")
	if n := c.written()["local third"]; n > 0 {
		t.Errorf("the third cluster was written to %d times", n)
	}
	for _, one := range k.all {
		one.serve("last")
	}
	c.writers(cluster.KCM, cluster.CCM)
	second.writers(cluster.KCM)
	k.all[2].writers(cluster.KCM)
	needed := slices.DeleteFunc(rights.Needed("controller", rights.Subject{}), func(r rights.Right) bool {
		return r.Verb == "create" && r.Resource == "configmaps" // kube-apiserver itself asks for it where what is applied does not exist
	})
	if unused := rancher.Unused(needed, c.rancher.Requests()); len(unused) > 0 {
		t.Errorf("of %d rights no request made use of %v", len(needed), unused)
	}
	c.scenario.end("controller-killed")
	second.scenario.end("controller-rolled-back")
	k.all[2].scenario.end("controller-last")
}

// elsewhere lets another program manage a cluster, and expects the next change of it to be explained.
func (k *controlled) elsewhere(name string) {
	k.Helper()
	k.mark(name, `{"labels":{"fleet":"elsewhere"},"annotations":{"argocd.argoproj.io/tracking-id":"another"}}`)
	k.name = "elsewhere"
	k.migration("  pause: false\n")
	k.awaited(v1alpha1.Complete)()
	k.becomes(v1alpha1.ManagedElsewhere, "")
	client, err := k.rancher.Local.Client(cluster.Admin)
	if err != nil {
		k.Fatal(err)
	}
	list, err := client.CoreV1().ConfigMaps(controllerSpace).List(k.Context(), metav1.ListOptions{LabelSelector: "rke-lm.io/leadermigration=elsewhere"})
	if err != nil || len(list.Items) != 1 || list.Items[0].Data["stage"] != stages.GrantMigrationLease || !strings.Contains(list.Items[0].Data["diff"], "\n+") {
		k.Errorf("%v %+v", err, list)
	}
}

// leader is who holds the lease of the controllers.
func (k *controlled) leader() string {
	client, err := k.rancher.Local.Client(cluster.Admin)
	if err != nil {
		k.Fatal(err)
	}
	l, err := client.CoordinationV1().Leases(controllerSpace).Get(k.Context(), "rke-lm-controller", metav1.GetOptions{})
	if err != nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// Controllers are killed and stopped at moments that no one chose, and once in every stage. Another one always waits.
func TestControllersThatAreKilledAtAnyMomentOfARancher(t *testing.T) {
	onlyInSoak(t)
	const number = 20
	dice := rand.New(rand.NewPCG(seedOf(t), 2))
	c := rke2Cluster(t)
	k := c.control(c.also("second"), c.also("third"))
	for _, one := range k.all {
		one.serve("first")
	}
	k.migration("  maxUnavailable: 2\n  waves: [{name: canary, size: 1}, {name: others}]\n")
	kills, seen := 0, map[string]bool{}
	for kills < number || !meta.IsStatusConditionTrue(k.now().Status.Conditions, v1alpha1.Complete) {
		if meta.IsStatusConditionTrue(k.now().Status.Conditions, v1alpha1.Complete) {
			break
		}
		staged := make(chan struct{}, 1)
		p := k.run(func(_ *process, e report.RunEvent) {
			k.mu.Lock()
			defer k.mu.Unlock()
			if e.Type == migrate.Staged && !seen[e.Stage] {
				seen[e.Stage] = true
				select {
				case staged <- struct{}{}:
				default:
				}
			}
		})
		if kills >= number {
			k.becomes(v1alpha1.Complete, "")
			p.stop()
			break
		}
		select {
		case <-staged:
		case <-time.After(time.Duration(5+dice.IntN(40)) * time.Second):
		}
		if dice.IntN(4) == 0 {
			p.stop()
		} else {
			p.kill()
		}
		kills++
	}
	if got := k.over(); got != "lab=done second=done third=done" || kills < 10 {
		t.Fatalf("%s after %d kills", got, kills)
	}
	k.unlocked()
	for _, one := range k.all {
		one.serve("last")
		one.writers(cluster.KCM, cluster.CCM)
		one.is(undisturbed(t).external)
	}
	for i, one := range k.all {
		one.scenario.end(fmt.Sprintf("controller-killed-%d-times-%d", kills, i+1))
	}
}
