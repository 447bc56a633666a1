// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/controller"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/transition"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestAPolicyPermitsWhatItNames(t *testing.T) {
	const own = "https://charts.example.com/aws"
	for _, c := range []struct {
		name, policy string
		target       transform.Target
		options      []string
		home, want   string
	}{
		{"the published chart without a policy", "", transform.Target{}, []string{"end-state"}, "fleet-default", ""},
		{"another chart without a policy", "", transform.Target{ChartRepo: own}, nil, "", "does not permit " + own + ": chart-repositories"},
		{"another image without a policy", "", transform.Target{ImageRepository: "registry.example.com/ccm"}, nil, "", "image-repositories"},
		{"another tag of its image", "", transform.Target{ImageTag: "v1.28.3"}, nil, "", ""},
		{"a chart that is named", "chart-repositories: [" + own + "]\n", transform.Target{ChartRepo: own + "/"}, nil, "", ""},
		{"the published one, which is not", "chart-repositories: [" + own + "]\n", transform.Target{}, nil, "", "chart-repositories"},
		{"a longer name", "chart-repositories: [" + own + "]\n", transform.Target{ChartRepo: own + ".attacker.example"}, nil, "", "chart-repositories"},
		{"an image that is named", "image-repositories: [registry.example.com/ccm]\n", transform.Target{ImageRepository: "registry.example.com/ccm"}, nil, "", ""},
		{"a namespace that is named", "namespaces: [fleet-default, c-x7k2p]\n", transform.Target{}, nil, "c-x7k2p", ""},
		{"another namespace", "namespaces: [fleet-default]\n", transform.Target{}, nil, "fleet-local", "does not permit fleet-local: namespaces"},
		{"no namespace at all", "namespaces: []\n", transform.Target{}, nil, "fleet-default", "namespaces"},
		{"an option that is named", "options: [end-state]\n", transform.Target{}, []string{"end-state"}, "", ""},
		{"another option", "options: [end-state]\n", transform.Target{}, []string{"end-state", "accept"}, "", "does not permit accept: options"},
	} {
		w := &world{t: t}
		if c.policy != "" {
			w.permits(c.policy)
		}
		err := assert.Value(w.readPolicy())(t).Check(c.target, c.options, c.home)
		assert.Truef(t, errors.As(err, new(*controller.NotPermitted)) == (c.want != "") && (err == nil || strings.Contains(err.Error(), c.want)), "%s: %v", c.name, err)
	}
}

func TestAPolicyThatCannotBeReadPermitsNothing(t *testing.T) {
	for policy, want := range map[string]string{
		"namespace: [a]\n":          "policy.yaml:1: namespace: ",
		"namespaces: fleet\n":       "this must be a list of strings",
		"approval: sometimes\n":     `approval "sometimes" is not one of none, wave, stage`,
		"approval: wave\n---\na: b": "a second document",
	} {
		w := &world{t: t}
		w.permits(policy)
		assert.Error(w.readPolicy())(t, want, policy)
	}
	_, err := controller.ReadPolicy(t.TempDir() + "/none")
	assert.True(t, err != nil && strings.HasPrefix(err.Error(), "--policy: "), err)
}

func TestWhatIsNotPermittedIsRefusedAtTheSelectionUntilItIs(t *testing.T) {
	for name, c := range map[string]struct{ spec, policy, permits, want string }{
		"a chart":   {`{"selector":{},"options":{"chart-repo":"https://charts.example.com/aws"}}`, "", "chart-repositories: ['https://charts.example.com/aws']\n", "chart-repositories"},
		"an option": {`{"selector":{},"options":{"accept":["node-rename"]}}`, "options: []\n", "options: [accept]\n", "options"},
		"no policy": {`{"selector":{}}`, "options: {}\n", "approval: none\n", "--policy: "},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, c.spec, []string{"alder"}, func(t *testing.T, w *world) {
				w.permits(c.policy)
				w.run()
				assert.Contains(t, w.becomes(path, v1alpha1.Failed, "NotPermitted"), c.want)
				time.Sleep(time.Hour)
				assert.Equal(t, len(w.object().Status.Clusters), 0)
				w.unchanged()
				w.permits(c.permits)
				w.await(v1alpha1.Complete, "")
				w.Migrated(t, "alder")
			})
		})
	}
}

func TestAClusterInANamespaceThatIsNotPermittedFails(t *testing.T) {
	on(t, `{"selector":{}}`, []string{"alder"}, func(t *testing.T, w *world) {
		w.permits("namespaces: [fleet-other]\n")
		w.run()
		w.await(v1alpha1.Failed, "TooManyFailures")
		c := w.object().Status.Clusters[0]
		assert.True(t, c.State == string(transition.Failed) && strings.Contains(c.Message, "does not permit fleet-default") && w.Worlds["alder"].Patches() == 0, c)
	})
}

// The operator changes the policy while a run is between two stages: its next write is refused.
func TestAPolicyHoldsBeforeEachWrite(t *testing.T) {
	on(t, `{"selector":{}}`, []string{"alder"}, func(t *testing.T, w *world) {
		w.permits("namespaces: [fleet-default]\n")
		w.onWrite(stages.EnableLeaderMigration, func() { w.permits("namespaces: []\n") })
		w.run()
		w.await(v1alpha1.Failed, "TooManyFailures")
		c := w.object().Status.Clusters[0]
		assert.True(t, c.Stage == stages.InstallCCM && strings.Contains(c.Message, "does not permit fleet-default"), c)
		s := w.Worlds["alder"].Spec(t)
		assert.True(t, !strings.Contains(s, "aws-cloud-controller-manager") && len(w.Worlds["alder"].Cordoned()) == 0, s)
	})
}

func TestThePolicyRequiresApprovals(t *testing.T) {
	on(t, `{"selector":{},"approval":"none"}`, []string{"alder"}, func(t *testing.T, w *world) {
		w.permits("approval: wave\n")
		w.run()
		w.await(v1alpha1.Waiting, string(transition.ApprovalRequired))
		time.Sleep(time.Hour)
		w.unchanged("without an approval")
		w.approve("rest", "")
		w.await(v1alpha1.Complete, "")
		w.Migrated(t, "alder")
	})
}

// An API server without CEL lets the creator change the object. The other processes know of it from the status.
func TestAnApprovalIsNotWeakenedByWhoCreatesTheLeaderMigration(t *testing.T) {
	on(t, `{"selector":{},"approval":"stage"}`, []string{"alder"}, func(t *testing.T, w *world) {
		w.run()
		w.await(v1alpha1.Waiting, string(transition.ApprovalRequired))
		w.edit(func(spec map[string]any) { spec["approval"] = "none" })
		time.Sleep(time.Hour)
		w.end()
		w.run()
		time.Sleep(time.Hour)
		assert.True(t, w.Worlds["alder"].Patches() == 0 && w.object().Status.Approval == v1alpha1.ApprovalStage, w.Rancher.Object(path))
		for _, stage := range stages.Names() {
			w.approve("rest", stage)
		}
		w.await(v1alpha1.Complete, "")
	})
}

func TestAnApprovalOfTheSecondInWhichTheLeaderMigrationWasCreatedIsOfAnEarlierOne(t *testing.T) {
	on(t, `{"selector":{},"approval":"wave"}`, []string{"alder"}, func(t *testing.T, w *world) {
		w.approvals = []v1alpha1.LeaderMigrationApproval{{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.Now().Truncate(time.Second))}, Spec: v1alpha1.LeaderMigrationApprovalSpec{Migration: name, Wave: "rest"}}}
		w.run()
		w.await(v1alpha1.Waiting, string(transition.ApprovalRequired))
		time.Sleep(time.Hour)
		w.unchanged()
	})
}

// What was approved is what is done.
func TestWhatCannotBeChangedIsNotOnAnyAPIServer(t *testing.T) {
	for name, change := range map[string]func(spec map[string]any){
		"options":  func(spec map[string]any) { spec["options"] = map[string]any{"cordon": "never"} },
		"selector": func(spec map[string]any) { spec["selector"] = map[string]any{"matchLabels": map[string]any{"a": "b"}} },
		"until":    func(spec map[string]any) { spec["until"] = stages.InstallCCM },
		"waves":    func(spec map[string]any) { spec["waves"] = []any{map[string]any{"name": "rest", "after": "auto"}} },
		"snapshot": func(spec map[string]any) { spec["etcdSnapshot"] = true },
		"canary":   func(spec map[string]any) { spec["canaryService"] = true },
	} {
		t.Run(name, func(t *testing.T) {
			on(t, `{"selector":{},"approval":"wave","pause":true}`, []string{"alder"}, func(t *testing.T, w *world) {
				w.run()
				w.await(v1alpha1.Waiting, string(transition.Paused))
				w.approve("rest", "")
				var before map[string]any
				w.edit(func(spec map[string]any) {
					before = maps.Clone(spec)
					change(spec)
					spec["pause"] = false
				})
				assert.Contains(t, w.becomes(path, v1alpha1.Failed, "InvalidSpec"), "create another LeaderMigration")
				w.end()
				w.run()
				time.Sleep(time.Hour)
				w.unchanged()
				w.edit(func(spec map[string]any) {
					clear(spec)
					maps.Copy(spec, before)
					spec["pause"], spec["timeout"], spec["maxFailures"] = false, "20m", 1
				})
				w.await(v1alpha1.Complete, "")
			})
		})
	}
}
