// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// psactText is a cluster whose arguments of kube-apiserver Rancher's webhook writes.
var psactText = strings.NewReplacer(
	`"spec":{`, `"spec":{"defaultPodSecurityAdmissionConfigurationTemplateName":"rancher-restricted",`,
	`"cni":"calico",`, `"cni":"calico","kube-apiserver-arg":["cloud-provider=aws","audit-log-maxage=30","v=2","feature-gates=CSIMigrationAWS=true"],`,
).Replace(migratetest.RKE2Object)

// A webhook writes arguments in any order, at any time.
func TestWritesOfRanchersOwnDoNotStopARun(t *testing.T) {
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			w, webhook := rke2World(t), ranchertest.NewWebhook(seed)
			w.Rancher.Put(t, psactText)
			w.Rancher.Do(func() { w.Rancher.Webhook = webhook })
			w.Rancher.Edit(migratetest.RKE2Path, webhook.Change)
			w.Follow()
			for _, work := range []string{"migrate", "rollback"} {
				r := w.run(t, work, nil)
				r.Planner.Target = transform.Target{EndState: transform.EndStateExternal, Accept: []string{"node-rename"}, CanonicalForm: true}
				r.OnEvent = func(e migrate.Event) {
					logged(t)(e)
					switch {
					case e.Type == migrate.Staged:
						w.Rancher.Do(func() { w.Rancher.Meanwhile = webhook.Change })
					case e.Type == migrate.Written && strings.HasPrefix(e.Message, "patch"):
						w.Rancher.Edit(migratetest.RKE2Path, webhook.Change)
						w.Follow()
					}
				}
				run := migrate.Forward
				if work == "rollback" {
					run = migrate.Backward
				}
				err := run(t.Context(), r)
				assert.Mustf(t, err == nil, "seed %d: %s: %v", seed, work, err)
				want := map[string]string{"migrate": "cloud-provider=external", "rollback": "cloud-provider=aws"}[work]
				s := w.Spec(t)
				assert.True(t, strings.Contains(s, want) && strings.Contains(s, "audit-log-maxage=30"), s)
			}
		})
	}
}

// What someone else changes while Rancher writes is still refused.
func TestAChangeOfAnotherClientIsNoWriteOfRanchersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, webhook := rke2World(t), ranchertest.NewWebhook(1)
		w.Rancher.Put(t, psactText)
		w.Follow()
		r := w.run(t, "one", nil)
		r.Planner.Target = transform.Target{EndState: transform.EndStateExternal, Accept: []string{"node-rename"}}
		r.OnEvent = func(e migrate.Event) {
			logged(t)(e)
			if e.Type == migrate.Staged && e.Stage == stages.SwitchToExternal {
				w.Rancher.Do(func() {
					w.Rancher.Meanwhile = func(o map[string]any) {
						webhook.Change(o)
						config := o["spec"].(map[string]any)["rkeConfig"].(map[string]any)["machineGlobalConfig"].(map[string]any)
						config["kube-apiserver-arg"] = append(config["kube-apiserver-arg"].([]any), "anonymous-auth=false")
					}
				})
			}
		}
		err := migrate.Forward(t.Context(), r)
		assert.True(t, err != nil && exitcode.Of(err) == exitcode.Refused && strings.Contains(err.Error(), "has changed in the meantime") && strings.Contains(err.Error(), "now: kube-controller-manager or cloud-controller-manager runs"), err)
	})
}

// bareText is a cluster of RKE whose manager has no arguments, as Rancher keeps it.
var bareText = strings.Replace(migratetest.RKE1Object, `{"kubeController":{"extraArgs":{"v":"2"}}}`, `{"etcd":{},"kubeController":{},"kubelet":{}}`, 1)

func TestMigrateTakesAClusterOfRKEThroughRanchersTypesAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, webhook := rke1World(t), ranchertest.NewWebhook(1)
		up := w.Follow
		w.Follow = func() { // Rancher's controllers write the object, too
			w.Rancher.Edit(w.Path, webhook.Change)
			up()
		}
		w.Rancher.Put(t, bareText)
		w.Rancher.Do(func() { w.Rancher.Webhook = webhook })
		w.Follow()
		before := w.Spec(t)
		w.migrate(t, "one")
		s := w.Spec(t)
		assert.True(t, strings.Contains(s, `"external-aws"`) && strings.Contains(s, `"kubeController":{}`), s)
		assert.NilError(t, w.does(t, "two", migrate.Backward, canonical))
		after := w.Spec(t)
		assert.Truef(t, !strings.Contains(after, "external-aws") && !strings.Contains(after, "enable-leader-migration"), "%s\n%s", before, after)
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
		}, "now: kube-controller-manager or cloud-controller-manager runs the cloud controllers, the one that holds the migration lease"},
		"without an answer": {func(s *ranchertest.Server) {
			s.Meanwhile = func(map[string]any) {}
			s.Fault = func(r *http.Request) ranchertest.Fault {
				if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, migratetest.RKE2Path) && s.Meanwhile != nil {
					return ranchertest.Fault{Status: http.StatusBadGateway}
				}
				return ranchertest.Fault{}
			}
		}, "now: the change of switch-to-external may be in the cluster's object"},
	} {
		t.Run(name, func(t *testing.T) {
			onRKE2(t, func(t *testing.T, w *world) {
				r := w.run(t, "one", nil)
				r.OnEvent = func(e migrate.Event) {
					logged(t)(e)
					if e.Type == migrate.Staged && e.Stage == stages.SwitchToExternal {
						w.Rancher.Do(func() { c.fault(w.Rancher) })
					}
				}
				err := migrate.Forward(t.Context(), r)
				assert.Contains(t, fmt.Sprint(err), c.want, err)
				var end *migrate.End
				assert.True(t, errors.As(err, &end) && end.Stage == stages.SwitchToExternal, err)
			})
		})
	}
}
