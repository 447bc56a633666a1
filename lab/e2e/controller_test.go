// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/deploy"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
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

	restarted atomic.Bool // the API server of Rancher's cluster
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
	for _, one := range k.all {
		c.settled(one.downstream.Name)
	}
	c.least("controller")
	k.apply("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: approver, namespace: " + controllerSpace + "}\nrules: [{apiGroups: [rke-lm.io], resources: [leadermigrationapprovals], verbs: [create]}]\n")
	k.apply("apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: approver, namespace: " + controllerSpace + "}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: approver}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: " + approver + "}]\n")
	return k
}

// install applies the definitions as kubectl does, and waits until they are served.
func (k *controlled) install(file string) {
	k.Helper()
	text := assert.Value(os.ReadFile(file))(k)
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
	client := assert.Value(dynamic.NewForConfig(config))(k)
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
		"  selector: {matchLabels: {fleet: \"" + k.name + "\"}}\n  options: {end-state: external, accept: [node-rename], chart-repo: \"" + k.rancher.Charts() + "\"}\n  timeout: 5m\n" + spec)
}

// edit changes the LeaderMigration as a user does.
func (k *controlled) edit(patch string) {
	k.Helper()
	if _, err := k.objects(v1alpha1.MigrationResource, cluster.Admin).Patch(k.Context(), k.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		k.Fatal(err)
	}
}

// now is the LeaderMigration as it is, once an API server that restarts answers.
func (k *controlled) now() *v1alpha1.LeaderMigration {
	k.Helper()
	var o *unstructured.Unstructured
	k.eventually("the LeaderMigration", func(ctx context.Context) (is bool) {
		found, err := k.objects(v1alpha1.MigrationResource, cluster.Admin).Get(ctx, k.name, metav1.GetOptions{})
		o = found
		return err == nil
	})
	var lm v1alpha1.LeaderMigration
	assert.NilError(k, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &lm))
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
	program := assert.Value(tool())(k)
	policy := filepath.Join(k.TempDir(), "policy.yaml")
	assert.NilError(k, os.WriteFile(policy, []byte("namespaces: ["+rancher.Namespace+"]\nchart-repositories: [\""+k.rancher.Charts()+"\"]\n"), 0o600))
	p := &process{cmd: exec.Command(program, "controller", "-o", "json", "--namespace", controllerSpace, "--rancher-url", k.rancher.URL(), "--cacert", k.rancher.CA(),
		"--audit-log", k.auditLog, "--lease-duration", "6s", "--policy", policy), ended: make(chan struct{})}
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
	client := assert.Value(k.rancher.Local.Client(cluster.Admin))(k)
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

// each lets several things hear the events of a controller.
func each(list ...func(*process, report.RunEvent)) func(*process, report.RunEvent) {
	return func(p *process, e report.RunEvent) {
		for _, heard := range list {
			heard(p, e)
		}
	}
}

// Three waves over three clusters and ten simulated ones, with approvals that come late. The controller is killed at the
// switch of the first one, and stopped while another one waits. In the second wave one cluster fails because another user
// changes it, and is rolled back; the other one is completed, although the API server of Rancher's cluster restarts and another user writes
// the whole object. The third wave does not start before more failures are allowed.
func TestALeaderMigrationOverThreeClustersAndTenSimulatedOnesOfARancher(t *testing.T) {
	t.Parallel()
	c := rke2Cluster(t)
	k := c.control(c.also("second"), c.also("third"))
	many := c.simulate(10)
	for _, one := range k.all {
		one.serve("first")
	}
	for _, one := range k.all[1:] {
		k.mark(one.downstream.Name, `{"labels":{"wave":"two"}}`)
	}
	k.migration("  approval: wave\n  rollbackOnFailure: true\n  maxUnavailable: 2\n" +
		"  waves: [{name: canary, size: 1}, {name: two, selector: {matchLabels: {wave: two}}}, {name: three}]\n")
	k.killedAtTheSwitch()
	k.stoppedAtTheEnd(each(k.failing("second"), k.disturbing(k.all[2])))
	k.failed("second")
	many.untouched(c.written())
	k.unlocked()

	complete := k.awaited(v1alpha1.Complete)
	k.edit(`{"spec":{"maxFailures":1,"maxUnavailable":10}}`)
	k.becomes(v1alpha1.Waiting, "ApprovalRequired")
	assert.NilError(t, k.approve(approver, "three", ""))
	complete()
	k.listed(map[string]string{"NAME": k.name, "WAVE": "", "TOTAL": "13", "DONE": "12", "RUNNING": "0", "FAILED": "1", "COMPLETE": "True", "REASON": "Complete"})
	many.migrated()
	k.unlocked()
	for _, one := range k.now().Status.Clusters {
		assert.Equal(t, one.TwoOwnersSeconds, 0, one)
	}
	k.manageByAnother("second")
	k.owned()
	needed := slices.DeleteFunc(rollout.Permissions("controller", rollout.Subject{}), func(r rollout.Access) bool {
		return r.Verb == "create" && r.Resource == "configmaps" // kube-apiserver itself asks for it where what is applied does not exist
	})
	if unused := rancher.Unused(needed, c.rancher.Requests()); len(unused) > 0 {
		t.Errorf("of %d rights no request made use of %v", len(needed), unused)
	}
	c.scenario.end("controller-killed")
	k.all[1].scenario.end("controller-rolled-back")
	k.all[2].scenario.end("controller-disturbed")
	(&scenario{T: t}).end("controller-simulated")
}

// killedAtTheSwitch kills the controller when the first cluster is at its switch, after the wave was approved.
func (k *controlled) killedAtTheSwitch() {
	k.Helper()
	killed := make(chan struct{})
	k.run(upon("lab", migrate.Written, stages.SwitchToExternal, func(p *process) {
		p.kill()
		close(killed)
	}))
	k.becomes(v1alpha1.Waiting, "ApprovalRequired")
	k.explained()
	k.listed(map[string]string{"NAME": k.name, "WAVE": "canary", "TOTAL": "13", "DONE": "0", "RUNNING": "0", "FAILED": "0", "COMPLETE": "False", "REASON": "ApprovalRequired"})
	if err := k.approve("user-without", "canary", ""); !apierrors.IsForbidden(err) {
		k.Errorf("a user without permission approved: %v", err)
	}
	assert.NilError(k, k.approve(approver, "canary", ""))
	<-killed
}

// stoppedAtTheEnd stops a controller when the first cluster is at its last change, while another one waits. That one
// continues up to the next wave, which then is approved. heard hears of its runs.
func (k *controlled) stoppedAtTheEnd(heard func(*process, report.RunEvent)) {
	k.Helper()
	dead, stopped := k.leader(), make(chan struct{})
	first := k.run(upon("lab", migrate.Staged, stages.DisableLeaderMigration, func(p *process) {
		p.stop()
		close(stopped)
	}))
	k.eventually("another leader", func(context.Context) bool { return k.leader() != "" && k.leader() != dead })
	k.run(heard)
	<-stopped
	<-first.ended
	k.becomes(v1alpha1.Waiting, "ApprovalRequired")
	if got := k.over(); !strings.HasPrefix(got, "lab=done second=waiting third=waiting simulated-01=waiting ") {
		k.Fatal(got)
	}
	assert.NilError(k, k.approve(approver, "two", ""))
}

// failing lets another user change what the second stage of a cluster is about to change.
func (k *controlled) failing(name string) func(*process, report.RunEvent) {
	return upon(name, migrate.Written, stages.GrantMigrationLease, func(*process) {
		edits := func(r rancher.Request) bool {
			return r.Method == http.MethodPatch && strings.HasSuffix(r.Path, "/clusters/"+name)
		}
		k.rancher.Before(edits, func() {
			k.named(name).patch(`[{"op":"add","path":"/spec/rkeConfig/machineGlobalConfig/kube-controller-manager-arg/0","value":"v=3"}]`)
		})
	})
}

// named is the cluster of a name.
func (k *controlled) named(name string) *managed {
	i := slices.IndexFunc(k.all, func(c *managed) bool { return c.downstream.Name == name })
	return k.all[i]
}

// disturbing restarts the API server of Rancher's cluster in the middle of a stage of a cluster, and lets another user
// write the whole object in the middle of another one, as Rancher's UI does.
func (k *controlled) disturbing(c *managed) func(*process, report.RunEvent) {
	ctx := context.WithoutCancel(k.Context())
	return each(
		upon(c.downstream.Name, migrate.Written, stages.InstallCCM, func(*process) {
			if err := k.rancher.Local.RestartAPI(ctx); err != nil {
				k.Error(err)
			}
			k.restarted.Store(true)
		}),
		upon(c.downstream.Name, migrate.Written, stages.SwitchToExternal, func(*process) {
			c.rewrite(ctx, func(spec map[string]any) { spec["agentEnvVars"] = edited })
		}),
	)
}

// edited is what another user writes.
var edited = []any{map[string]any{"name": "HTTP_PROXY", "value": "http://proxy.example.com:3128"}}

// failed requires that one cluster of the second wave fails and is rolled back, that the other one is completed, and
// that no more start.
func (k *controlled) failed(name string) {
	k.Helper()
	k.becomes(v1alpha1.Failed, "TooManyFailures")
	k.becomes(v1alpha1.Waiting, "TooManyFailures")
	for k.now().Status.Counts.Running > 0 {
		time.Sleep(time.Second)
	}
	s := k.now().Status
	if got := k.over(); !strings.HasPrefix(got, "lab=done second=failed third=done simulated-01=waiting ") || s.Counts.Waiting != 10 || !s.Clusters[1].RolledBack || s.Clusters[1].Name != rancher.Namespace+"/"+name {
		text, _ := json.MarshalIndent(s, "", "  ")
		k.Fatalf("%s %s", got, text)
	}
	if !k.restarted.Load() {
		k.Error("the API server of Rancher's cluster did not restart")
	}
}

// owned requires of each cluster that only owners wrote to AWS, and the end state of an undisturbed run.
func (k *controlled) owned() {
	k.Helper()
	for _, one := range k.all {
		one.serve("last")
	}
	last, second, third := k.all[0], k.all[1], k.all[2]
	second.writers(cluster.KCM)
	last.writers(cluster.KCM, cluster.CCM)
	third.writers(cluster.KCM, cluster.CCM)
	last.is(undisturbed(k.T).external)
	spec := third.object()["spec"].(map[string]any)
	assert.DeepEqual(k, spec["agentEnvVars"], edited, "the edit of another user is lost (-want +got)")
}

// manageByAnother lets another program manage a cluster, and expects the next change of it to be explained until none does and a
// retry finds that.
func (k *controlled) manageByAnother(name string) {
	k.Helper()
	k.mark(name, `{"labels":{"fleet":"elsewhere"},"annotations":{"argocd.argoproj.io/tracking-id":"another"}}`)
	k.name = "elsewhere"
	k.migration("  pause: false\n")
	k.awaited(v1alpha1.Complete)()
	k.becomes(v1alpha1.ManagedElsewhere, "")
	client := assert.Value(k.rancher.Local.Client(cluster.Admin))(k)
	changes := func(ctx context.Context) (*corev1.ConfigMapList, error) {
		return client.CoreV1().ConfigMaps(controllerSpace).List(ctx, metav1.ListOptions{LabelSelector: "rke-lm.io/leadermigration=elsewhere"})
	}
	list, err := changes(k.Context())
	if err != nil || len(list.Items) != 1 || list.Items[0].Data["stage"] != stages.GrantMigrationLease || !strings.Contains(list.Items[0].Data["diff"], "\n+") {
		k.Errorf("%v %+v", err, list)
	}
	k.edit(`{"spec":{"pause":true}}`) // the cluster stays as it is
	k.mark(name, `{"annotations":{"argocd.argoproj.io/tracking-id":null}}`)
	k.edit(`{"metadata":{"annotations":{"rke-lm.io/retry":"1"}}}`)
	k.scenario.eventually("no ConfigMap of a cluster that no other program manages", func(ctx context.Context) bool {
		list, err := changes(ctx)
		return err == nil && len(list.Items) == 0
	})
}

// leader is who holds the lease of the controllers.
func (k *controlled) leader() string {
	client := assert.Value(k.rancher.Local.Client(cluster.Admin))(k)
	l, err := client.CoordinationV1().Leases(controllerSpace).Get(k.Context(), "rke-lm-controller", metav1.GetOptions{})
	if err != nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}
