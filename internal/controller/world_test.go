// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/controller"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// TestMain gives the token to all runs: one of a file would be read with each of their requests.
func TestMain(m *testing.M) {
	os.Setenv(rancher.TokenVariable, ranchertest.Token)
	os.Exit(m.Run())
}

// world is a Rancher with clusters, a LeaderMigration over all of them, and the processes that run.
type world struct {
	*migratetest.Fleet
	t       *testing.T
	key     types.NamespacedName
	manager *controller.Manager
	stop    context.CancelFunc

	mu        sync.Mutex
	approvals []v1alpha1.LeaderMigrationApproval
	onShow    func(migrate.Member, migrate.Event)
	logs      []string
	slots     int // of the process
	interval  time.Duration
	policy    string // a file; "" for none
}

const (
	namespace = "rke-lm"
	name      = "summer"
	path      = "/apis/rke-lm.io/v1alpha1/namespaces/rke-lm/leadermigrations/summer"
)

// run starts a process that leads.
func (w *world) run() {
	w.t.Helper()
	w.make()
	w.t.Cleanup(w.end)
	w.lead()
}

// make makes the manager of a process.
func (w *world) make() {
	w.t.Helper()
	server := assert.Value(w.server())(w.t)
	w.manager = &controller.Manager{
		Client: server.Local(), Slots: make(chan struct{}, max(w.slots, 3)), Approvals: w.approved, Show: w.show, Log: w.log,
		Choose: func(_ context.Context, spec v1alpha1.LeaderMigrationSpec, accept ...string) (controller.Runs, error) {
			if _, wrong := spec.Options["wrong"]; wrong {
				return nil, fmt.Errorf("spec.options: wrong is no option")
			}
			r := &runs{w, server, spec, accept}
			return r, r.Permitted("")
		},
		Policy: w.readPolicy,
	}
}

// readPolicy reads the policy as the process does.
func (w *world) readPolicy() (controller.Policy, error) { return controller.ReadPolicy(w.policy) }

// permits writes the policy.
func (w *world) permits(text string) {
	w.t.Helper()
	if w.policy == "" {
		w.policy = filepath.Join(w.t.TempDir(), "policy.yaml")
	}
	assert.NilError(w.t, os.WriteFile(w.policy, []byte(text), 0o600))
}

// lead lets the process lead, for the first time or again.
func (w *world) lead() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	w.stop = cancel
	w.manager.Changed(ctx, w.key, w.raw())
}

// deny takes the permission to change clusters from the user, or gives it.
func (w *world) deny(is bool) {
	w.Rancher.Do(func() { w.Rancher.Denied["patch clusters"] = is })
}

// end ends the process as an interrupt does, and as the loss of the lease does.
func (w *world) end() {
	w.stop()
	w.manager.Wait()
}

func (w *world) server() (*rancher.Server, error) {
	return rancher.Open(rancher.Source{Connection: kube.Connection{Rancher: w.URL, Insecure: true, UserAgent: "controller", RetryFor: 30 * time.Second, Dial: memnet.Dial}})
}

// object is the LeaderMigration as the server has it.
func (w *world) object() *v1alpha1.LeaderMigration {
	w.t.Helper()
	var lm v1alpha1.LeaderMigration
	assert.NilError(w.t, json.Unmarshal([]byte(w.Rancher.Object(path)), &lm))
	return &lm
}

// events counts the Events with this reason. They are written after the status that they are about.
func (w *world) events(reason string) (n int) {
	synctest.Wait()
	for at, text := range w.Rancher.Objects() {
		if strings.Contains(at, "/namespaces/rke-lm/events/") && strings.Contains(text, `"`+reason+`"`) {
			n++
		}
	}
	return n
}

// raw is it as the server wrote it.
func (w *world) raw() []byte { return []byte(w.Rancher.Object(path)) }

// edit changes its specification, as a user does.
func (w *world) edit(change func(spec map[string]any)) {
	w.t.Helper()
	w.Rancher.Edit(path, func(o map[string]any) { change(o["spec"].(map[string]any)) })
	w.manager.Changed(w.t.Context(), w.key, w.raw())
}

// onWrite does something whenever a stage has been written.
func (w *world) onWrite(stage string, do func()) {
	w.onShow = func(_ migrate.Member, e migrate.Event) {
		if e.Type == migrate.Written && e.Stage == stage {
			do()
		}
	}
}

// marked gives an object an annotation, and no other; "" for none.
func (w *world) marked(at, key, value string) {
	w.Rancher.Edit(at, func(o map[string]any) {
		delete(o["metadata"].(map[string]any), "annotations")
		if value != "" {
			o["metadata"].(map[string]any)["annotations"] = map[string]any{key: value}
		}
	})
}

// message is that of a condition.
func (w *world) message(kind string) string {
	return meta.FindStatusCondition(w.object().Status.Conditions, kind).Message
}

func (w *world) isTrue(kind string) bool {
	return meta.IsStatusConditionTrue(w.object().Status.Conditions, kind)
}

// unchanged requires that no cluster was written.
func (w *world) unchanged(why ...any) {
	w.t.Helper()
	for name, one := range w.Worlds {
		assert.True(w.t, one.Patches() == 0, append(why, name, one.Writes())...)
	}
}

// approve makes an approval.
func (w *world) approve(wave, stage string, accept ...string) {
	later := metav1.NewTime(time.Now().Add(time.Second)) // one of the second of the LeaderMigration is not newer
	w.mu.Lock()
	w.approvals = append(w.approvals, v1alpha1.LeaderMigrationApproval{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: later}, Spec: v1alpha1.LeaderMigrationApprovalSpec{Migration: name, Wave: wave, Stage: stage, Accept: accept},
	})
	w.mu.Unlock()
	w.manager.Approved(w.key)
}

func (w *world) approved(string, string) []v1alpha1.LeaderMigrationApproval {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.approvals)
}

func (w *world) show(_ string, m migrate.Member, e migrate.Event) {
	w.mu.Lock()
	w.Runs(m.Cluster, m.State.Busy())
	then := w.onShow
	w.mu.Unlock()
	if then != nil {
		then(m, e)
	}
}

func (w *world) log(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logs = append(w.logs, text)
}

// states are those of the clusters in the status, as name=state.
func (w *world) states() string {
	state := func(c v1alpha1.ClusterStatus) string {
		return strings.TrimPrefix(c.Name, "fleet-default/") + "=" + c.State
	}
	return strings.Join(lists.Map(w.object().Status.Clusters, state), " ")
}

// runs makes runs as the command line does, each with connections of its own.
type runs struct {
	*world
	server *rancher.Server
	spec   v1alpha1.LeaderMigrationSpec
	accept []string // by approvals
}

// target has the choices of tests, unless the LeaderMigration chooses an end state.
func (r *runs) target() transform.Target {
	t := transform.Target{EndState: transform.EndStateExternal, Accept: []string{"node-rename"}}
	if _, own := r.spec.Options["end-state"]; own {
		t.Accept, t.EndStateBy = r.accept, transform.EndStateByObject
	}
	return t
}

func (r *runs) Find(ctx context.Context, which rancher.Query) ([]rancher.Object, error) {
	return r.server.Find(ctx, which)
}

func (r *runs) Plan(ctx context.Context, o rancher.Object) (*plan.Plan, error) {
	doc, err := transform.Parse(o.Chunk())
	if err != nil {
		return nil, err
	}
	return plan.Build(r.format(o.FullName()), transform.Only(doc), r.target())
}

// format is that of a cluster.
func (r *runs) format(cluster string) transform.Format {
	return r.Worlds[strings.TrimPrefix(cluster, "fleet-default/")].Format
}

func (r *runs) Open(ctx context.Context, cluster string) (migrate.Options, error) {
	server, err := r.world.server()
	if err != nil {
		return migrate.Options{}, err
	}
	found, err := server.Find(ctx, rancher.Query{Name: cluster})
	if err != nil {
		return migrate.Options{}, err
	}
	return migrate.Options{
		Server: server, Object: found[0], Planner: transition.Planner{Format: r.format(cluster), Target: r.target()}, Until: r.spec.Until,
		Permit:  func() error { return r.Permitted(found[0].Home()) },
		Timeout: 10 * time.Minute, Interval: max(r.interval, 2*time.Second), User: migrate.User{Name: "tester", Host: "controller"}, Continue: "again", Revert: "back",
	}, nil
}

func (r *runs) Permitted(home string) error {
	p, err := r.readPolicy()
	if err != nil {
		return err
	}
	t := r.target()
	var names []string
	for name, v := range r.spec.Options {
		names = append(names, name)
		if name == "chart-repo" {
			t.ChartRepo = strings.Trim(string(v.Raw), `"`)
		}
	}
	return p.Check(t, names, home)
}

func (*runs) Command(stage string) string { return "rke-lm apply --stage=" + stage + " FILE" }
