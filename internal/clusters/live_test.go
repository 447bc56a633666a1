// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/rancher"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// managed calls f with a Rancher that has some clusters.
func managed(t *testing.T, f func(*testing.T, *ranchertest.Server, *rancher.Server), names ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := ranchertest.Start(t)
		for _, name := range names {
			r.Put(t, provisioned(name))
		}
		s := assert.Value(rancher.Open(rancher.Source{Connection: kube.Connection{Dial: memnet.Dial, Rancher: r.URL(), TokenFile: r.TokenFile(t), Authority: r.Authority(t), RetryFor: 2 * time.Second}}))(t)
		f(t, r, s)
	})
}

func TestTheClustersOfARancherComeOneAfterTheOther(t *testing.T) {
	managed(t, func(t *testing.T, _ *ranchertest.Server, s *rancher.Server) {
		var names []string
		for _, r := range finder().Rancher(t.Context(), s, "v2.8.5", rancher.Query{}) {
			if r.Err != nil || len(r.Ended) != 1 || r.Ended[0].Info != nil || r.File != r.Live.Name() {
				t.Errorf("%v, %+v", r.Err, r.Ended)
				continue
			}
			names = append(names, r.Live.Name())
		}
		assert.Equal(t, strings.Join(names, " "), "fleet-default/harbour fleet-default/orchard")
	}, "orchard", "harbour")
}

func TestAClusterThatARancherDoesNotHaveIsAnError(t *testing.T) {
	managed(t, func(t *testing.T, _ *ranchertest.Server, s *rancher.Server) {
		for query, code := range map[rancher.Query]int{{Name: "wharf"}: transform.ExitInput, {Selector: "env=none"}: transform.ExitRefused} {
			errs := lists.Map(finder().Rancher(t.Context(), s, "", query), func(r Result) error { return r.Err })
			assert.Truef(t, len(errs) == 1 && transform.ExitCodeOf(errs[0]) == code && strings.Contains(errs[0].Error(), rancher.ErrNone.Error()), "%+v: %v", query, errs)
		}
	}, "orchard")
}

func TestAnObjectOfAnotherFormatIsRefused(t *testing.T) {
	managed(t, func(t *testing.T, _ *ranchertest.Server, s *rancher.Server) {
		f := finder()
		f.Formats = f.Formats[1:]
		for _, r := range f.Rancher(t.Context(), s, "v2.8.5", rancher.Query{Name: "orchard"}) {
			err := r.Err
			assert.True(t, transform.ExitCodeOf(err) == transform.ExitRefused && strings.Contains(err.Error(), "fleet-default/orchard:"), err)
		}
	}, "orchard")
}

func TestAPausedObjectIsObjectedTo(t *testing.T) {
	managed(t, func(t *testing.T, r *ranchertest.Server, s *rancher.Server) {
		r.Edit("/apis/provisioning.cattle.io/v1/namespaces/fleet-default/clusters/orchard", func(o map[string]any) {
			o["metadata"].(map[string]any)["annotations"] = map[string]any{"cluster.x-k8s.io/paused": "true"}
		})
		for _, result := range finder().Rancher(t.Context(), s, "v2.8.5", rancher.Query{Name: "orchard"}) {
			c := result.Cluster
			accepted := transform.Target{Accept: []string{rollout.NotSettled}}
			findings, err := c.Preconditions(t.Context(), accepted)
			objections := c.Objections(transform.Target{})
			assert.Truef(t, len(objections) != 0 && len(findings) >= len(objections), "%+v, %+v", findings, objections)
			c.Live = nil
			assert.True(t, len(c.Objections(transform.Target{})) == 0, "a file is objected to")
			assert.NilError(t, errors.Join(result.Err, err))
		}
	}, "orchard")
}

func TestTheRightsThatAVerbNeedsAreRequested(t *testing.T) {
	managed(t, func(t *testing.T, r *ranchertest.Server, s *rancher.Server) {
		objects := assert.Value(s.Find(t.Context(), rancher.Query{Name: "orchard"}))(t)
		l := &Live{Server: s, Object: objects[0]}
		assert.NilError(t, l.Review(t.Context(), transform.Target{}))
		r.Do(func() { r.Denied = map[string]bool{"patch clusters": true} })
		err := l.Review(t.Context(), transform.Target{})
		assert.True(t, transform.ExitCodeOf(err) == transform.ExitRefused && strings.Contains(err.Error(), "fleet-default/orchard: "), err)
		accepted := transform.Target{Accept: []string{rollout.NotSettled}}
		r.Do(func() { r.Denied = map[string]bool{"list machines": true, "list secrets": true, "get secrets": true} })
		assert.NilError(t, l.Review(t.Context(), accepted)) // what is not looked at needs no right
	}, "orchard")
}

// What is not there is not known, and nothing fails.
func TestThePoolsOfAClusterAreOpenedWithTheirUserData(t *testing.T) {
	pools := strings.Replace(provisioned("wharf"), `"rkeConfig": {`, `"rkeConfig": {"machinePools": [{"name": "a", "controlPlaneRole": true, "machineConfigRef": {"kind": "Amazonec2Config", "name": "nc-wharf-a"}}, {"name": "b", "workerRole": true, "machineConfigRef": {"kind": "Amazonec2Config", "name": "nc-wharf-b"}}], `, 1)
	external := transform.Target{EndState: transform.EndStateExternal, Accept: []string{"node-rename"}}
	managed(t, func(t *testing.T, r *ranchertest.Server, s *rancher.Server) {
		r.Put(t, pools)
		r.Put(t, `{"apiVersion": "rke-machine-config.cattle.io/v1", "kind": "Amazonec2Config", "metadata": {"name": "nc-wharf-a", "namespace": "fleet-default"}, "userdata": "#cloud-config\nhostname: hunter2\n"}`)
		for _, removed := range []bool{false, true} {
			if removed {
				r.RemoveAll("/amazonec2configs/")
			}
			for _, c := range finder().Rancher(t.Context(), s, "v2.8.5", rancher.Query{Name: "wharf"}) {
				p, err := plan.Build(c.Format, c.Docs, c.For(external))
				assert.NilError(t, errors.Join(c.Err, err))
				step, _ := p.Step(stages.SwitchToExternal)
				found := transform.Stopping(step.Findings)
				shared := len(found) == 1 && found[0].Rule == "node-name-shared" && strings.Contains(found[0].Message, "nc-wharf-a")
				assert.Truef(t, shared != removed && !strings.Contains(fmt.Sprint(found), "hunter2"), "gone: %t, %+v", removed, found)
			}
		}
	})
}

// Only a file has to think of all labels that machines may have.
func TestAClusterWhoseLabelsAreTooManyIsOpenedWithItsMachines(t *testing.T) {
	var entries []string
	for i := range 12 {
		entries = append(entries, fmt.Sprintf(`{"config": {"kubelet-arg": ["v=%d"]}, "machineLabelSelector": {"matchLabels": {"label-%d": "yes"}}}`, i, i))
	}
	managed(t, func(t *testing.T, r *ranchertest.Server, s *rancher.Server) {
		r.Put(t, strings.Replace(provisioned("wharf"), `"rkeConfig": {`, `"rkeConfig": {"machineSelectorConfig": [`+strings.Join(entries, ", ")+`], `, 1))
		r.Put(t, `{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": {"name": "wharf-0", "namespace": "fleet-default",
  "labels": {"cluster.x-k8s.io/cluster-name": "wharf", "label-3": "yes", "rke.cattle.io/worker-role": "true"}}}`)
		for name, asked := range map[string]int{"orchard": 0, "wharf": 1} {
			before := r.Count("/machines")
			for _, c := range finder().Rancher(t.Context(), s, "v2.8.5", rancher.Query{Name: name}) {
				_, err := plan.Build(c.Format, c.Docs, c.For(transform.Target{}))
				assert.Truef(t, err == nil, "%s: %v", name, err)
			}
			assert.Equal(t, r.Count("/machines")-before, asked, "the machines are listed", name)
		}
	}, "orchard")
}

// rancher-machine gives a machine of a pool the name of its own object. Of a custom machine nothing is known but what was read.
func TestHostNamesOfPoolsAreThoseOfTheirMachines(t *testing.T) {
	machine := func(node, kind, name string) rollout.Machine {
		return rollout.Machine{Node: node, Infrastructure: corev1.ObjectReference{Kind: kind, Name: name}}
	}
	pool, custom, joining := machine("ip-10-0-0-1", "Amazonec2Machine", "harbour-pool-1"), machine("ip-10-0-0-2", "CustomMachine", "custom-2"), machine("", "Amazonec2Machine", "harbour-pool-3")
	for _, c := range []struct {
		name       string
		machines   []rollout.Machine
		read, want transform.HostNames
	}{
		{"a pool", []rollout.Machine{pool, joining}, nil, transform.HostNames{"ip-10-0-0-1": "harbour-pool-1"}},
		{"a pool, whatever was read of it", []rollout.Machine{pool}, transform.HostNames{"ip-10-0-0-1": "ip-10-0-0-1"}, transform.HostNames{"ip-10-0-0-1": "harbour-pool-1"}},
		{"custom machines", []rollout.Machine{custom}, nil, nil},
		{"custom machines that were read", []rollout.Machine{custom}, transform.HostNames{"ip-10-0-0-2": "worker-2"}, transform.HostNames{"ip-10-0-0-2": "worker-2"}},
		{"a custom machine that was not read", []rollout.Machine{pool, custom}, nil, transform.HostNames{"ip-10-0-0-1": "harbour-pool-1", "ip-10-0-0-2": ""}},
		{"no machines", nil, transform.HostNames{"a": "b"}, transform.HostNames{"a": "b"}},
	} {
		got := (&Live{machines: c.machines}).hostNames(c.read)
		assert.Truef(t, maps.Equal(got, c.want), "%s: %v, not %v", c.name, got, c.want)
	}
}
