// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform"
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
			before := hearing(func(e migrate.Event) {
				if e.Type == migrate.Staged {
					w.Rancher.Do(func() { w.Rancher.Meanwhile = webhook.Change })
				}
			})
			after := onPatch("", func() {
				w.Rancher.Edit(migratetest.RKE2Path, webhook.Change)
				w.Follow()
			})
			for _, c := range []struct {
				work work
				want string
			}{{migrate.Forward, "cloud-provider=external"}, {migrate.Backward, "cloud-provider=aws"}} {
				err := w.does(t, "one", c.work, canonical, before, after)
				assert.Mustf(t, err == nil, "seed %d: %s: %v", seed, c.want, err)
				s := w.Spec(t)
				assert.True(t, strings.Contains(s, c.want) && strings.Contains(s, "audit-log-maxage=30"), s)
			}
		})
	}
}

// What someone else changes while Rancher writes is still refused.
func TestAChangeOfAnotherClientIsNoWriteOfRanchersOwn(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		webhook := ranchertest.NewWebhook(1)
		w.Rancher.Put(t, psactText)
		w.Follow()
		err := w.does(t, "one", migrate.Forward, atSwitch(func(s *ranchertest.Server) {
			s.Meanwhile = func(o map[string]any) {
				webhook.Change(o)
				config := machineConfig(o)
				config["kube-apiserver-arg"] = append(config["kube-apiserver-arg"].([]any), "anonymous-auth=false")
			}
		}))
		assert.True(t, err != nil && transform.ExitCodeOf(err) == transform.ExitRefused && strings.Contains(err.Error(), "has changed in the meantime") && strings.Contains(err.Error(), "now: kube-controller-manager or cloud-controller-manager runs"), err)
	})
}

// A run that cannot plan its write again says why.
func TestAWriteOfRanchersOwnBeforeAnErrorShowsTheError(t *testing.T) {
	onRKE2(t, func(t *testing.T, w *world) {
		webhook, written := ranchertest.NewWebhook(1), atomic.Bool{}
		w.Rancher.Put(t, psactText)
		w.Rancher.Edit(migratetest.RKE2Path, webhook.Change)
		w.Follow()
		w.deny(func(path string) bool { return written.Load() && path == "/api/v1/nodes" })
		err := w.does(t, "one", migrate.Forward, atSwitch(func(s *ranchertest.Server) {
			s.Meanwhile = func(o map[string]any) {
				webhook.Change(o)
				written.Store(true)
			}
		}))
		assert.ErrorContains(t, err, "missing permissions: list nodes")
	})
}

// atSwitch changes what Rancher does before the switch is written.
func atSwitch(change func(*ranchertest.Server)) choices {
	return func(w *world, o *migrate.Options) {
		hearing(func(e migrate.Event) {
			if e.Type == migrate.Staged && e.Stage == stages.SwitchToExternal {
				w.Rancher.Do(func() { change(w.Rancher) })
			}
		})(w, o)
	}
}

// bareText is a cluster of RKE whose manager has no arguments, as Rancher keeps it.
var bareText = strings.Replace(migratetest.RKE1Object, `{"kubeController":{"extraArgs":{"v":"2"}}}`, `{"etcd":{},"kubeController":{},"kubelet":{}}`, 1)

func TestMigrateTakesAClusterOfRKEThroughRanchersTypesAndBack(t *testing.T) {
	onRKE1(t, func(t *testing.T, w *world) {
		webhook, up := ranchertest.NewWebhook(1), w.Follow
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
	isSwitch := func(o map[string]any) bool { return machineConfig(o)["cloud-provider-name"] == "external" }
	for name, c := range map[string]struct {
		fault func(*ranchertest.Server)
		want  string
	}{
		"altered": {func(s *ranchertest.Server) {
			s.Change = func(o map[string]any) {
				if isSwitch(o) {
					delete(machineConfig(o), "disable-cloud-controller")
				}
			}
		}, "now: the change of switch-to-external is in the cluster's object"},
		"refused": {func(s *ranchertest.Server) {
			s.Refuse = func(o map[string]any) string { return map[bool]string{true: "not today"}[isSwitch(o)] }
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
				err := w.does(t, "one", migrate.Forward, atSwitch(c.fault))
				assert.ErrorContains(t, err, c.want)
				var end *migrate.End
				assert.True(t, errors.As(err, &end) && end.Stage == stages.SwitchToExternal, err)
			})
		})
	}
}
