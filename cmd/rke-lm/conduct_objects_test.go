// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

// psactText is a cluster whose arguments of kube-apiserver Rancher's webhook writes.
var psactText = strings.NewReplacer(
	`"spec":{`, `"spec":{"defaultPodSecurityAdmissionConfigurationTemplateName":"rancher-restricted",`,
	`"cni":"calico",`, `"cni":"calico","kube-apiserver-arg":["cloud-provider=aws","audit-log-maxage=30","v=2","feature-gates=CSIMigrationAWS=true"],`,
).Replace(worldText)

// A webhook writes arguments in any order, at any time.
func TestWritesOfRanchersOwnDoNotStopARun(t *testing.T) {
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			w, webhook := newWorld(t), ranchertest.NewWebhook(seed)
			w.rancher.Put(t, psactText)
			w.rancher.Do(func() { w.rancher.Webhook = webhook })
			w.rancher.Edit(worldPath, webhook.Change)
			w.follow()
			for _, work := range []string{"migrate", "rollback"} {
				r := w.run(t, work, nil)
				r.Planner.Target = transform.Target{EndState: transform.EndStateExternal, Canonical: true}
				r.Say = func(e outputs.RunEvent) {
					said(t)(e)
					switch {
					case e.Type == outputs.Staged:
						w.rancher.Do(func() { w.rancher.Meanwhile = webhook.Change })
					case e.Type == outputs.Written && strings.HasPrefix(e.Message, "patch"):
						w.rancher.Edit(worldPath, webhook.Change)
						w.follow()
					}
				}
				run := r.Migrate
				if work == "rollback" {
					run = r.Rollback
				}
				if err := run(t.Context()); err != nil {
					t.Fatalf("seed %d: %s: %v", seed, work, err)
				}
				want := map[string]string{"migrate": "cloud-provider=external", "rollback": "cloud-provider=aws"}[work]
				if s := w.spec(t); !strings.Contains(s, want) || !strings.Contains(s, "audit-log-maxage=30") {
					t.Errorf("%s", s)
				}
			}
		})
	}
}

// What someone else changes while Rancher writes is still refused.
func TestAChangeOfAnotherClientIsNoWriteOfRanchersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, webhook := newWorld(t), ranchertest.NewWebhook(1)
		w.rancher.Put(t, psactText)
		w.follow()
		r := w.run(t, "one", nil)
		r.Planner.Target = transform.Target{EndState: transform.EndStateExternal}
		r.Say = func(e outputs.RunEvent) {
			said(t)(e)
			if e.Type == outputs.Staged && e.Stage == transform.SwitchToExternal {
				w.rancher.Do(func() {
					w.rancher.Meanwhile = func(o map[string]any) {
						webhook.Change(o)
						config := o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["machineGlobalConfig"].(map[string]any)
						config["kube-apiserver-arg"] = append(config["kube-apiserver-arg"].([]any), "anonymous-auth=false")
					}
				})
			}
		}
		err := r.Migrate(t.Context())
		if err == nil || exitcode.Of(err) != exitcode.Refused || !strings.Contains(err.Error(), "was changed meanwhile") || !strings.Contains(err.Error(), "now: kube-controller-manager runs") {
			t.Errorf("%v", err)
		}
	})
}

// bareText is a cluster of RKE whose manager has no arguments, as Rancher keeps it.
var bareText = strings.Replace(engineText, `{"kubeController":{"extraArgs":{"v":"2"}}}`, `{"etcd":{},"kubeController":{},"kubelet":{}}`, 1)

func TestMigrateTakesAClusterOfRKEThroughRanchersTypesAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, webhook := engineWorld(t), ranchertest.NewWebhook(1)
		up := w.follow
		w.follow = func() { // Rancher's controllers write the object, too
			w.rancher.Edit(w.path, webhook.Change)
			up()
		}
		w.rancher.Put(t, bareText)
		w.rancher.Do(func() { w.rancher.Webhook = webhook })
		w.follow()
		before := w.spec(t)
		if err := w.run(t, "one", said(t)).Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := w.spec(t); !strings.Contains(s, `"external-aws"`) || !strings.Contains(s, `"kubeController":{}`) {
			t.Errorf("%s", s)
		}
		r := w.run(t, "two", said(t))
		r.Planner.Target.Canonical = true
		if err := r.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after := w.spec(t); strings.Contains(after, "external-aws") || strings.Contains(after, "enable-leader-migration") {
			t.Errorf("%s\n%s", before, after)
		}
	})
}

// A run that ends at its write says what may be written.
func TestARunThatEndsAtItsWriteSaysWhatIsWritten(t *testing.T) {
	atSwitch := func(o map[string]any) map[string]any {
		config := o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["machineGlobalConfig"].(map[string]any)
		if config["cloud-provider-name"] == "external" {
			return config
		}
		return nil
	}
	for name, c := range map[string]struct {
		fault func(*ranchertest.Server)
		want  string
	}{
		"altered": {func(s *ranchertest.Server) {
			s.Change = func(o map[string]any) {
				if config := atSwitch(o); config != nil {
					delete(config, "disable-cloud-controller")
				}
			}
		}, "now: the change of switch-to-external is in the cluster's object"},
		"refused": {func(s *ranchertest.Server) {
			s.Refuse = func(o map[string]any) string { return map[bool]string{true: "not today"}[atSwitch(o) != nil] }
		}, "now: kube-controller-manager runs the cloud controllers, and the cloud-controller-manager waits"},
		"without an answer": {func(s *ranchertest.Server) {
			s.Meanwhile = func(map[string]any) {}
			s.Fault = func(r *http.Request) ranchertest.Fault {
				if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, worldPath) && s.Meanwhile != nil {
					return ranchertest.Fault{Status: http.StatusBadGateway}
				}
				return ranchertest.Fault{}
			}
		}, "now: the change of switch-to-external may be in the cluster's object"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				r := w.run(t, "one", nil)
				r.Say = func(e outputs.RunEvent) {
					said(t)(e)
					if e.Type == outputs.Staged && e.Stage == transform.SwitchToExternal {
						w.rancher.Do(func() { c.fault(w.rancher) })
					}
				}
				err := r.Migrate(t.Context())
				if !strings.Contains(fmt.Sprint(err), c.want) {
					t.Errorf("%v", err)
				}
				var end *migrate.End
				if !errors.As(err, &end) || end.Stage != transform.SwitchToExternal {
					t.Errorf("%v", err)
				}
			})
		})
	}
}
