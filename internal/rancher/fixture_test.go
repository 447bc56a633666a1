// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform/jsonpatch"
)

const (
	orchard     = "/apis/provisioning.cattle.io/v1/namespaces/fleet-default/clusters/orchard"
	orchardText = `{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"orchard","namespace":"fleet-default","uid":"u-orchard","labels":{"env":"prod"},
 "managedFields":[{"manager":"rancher","fieldsV1":{"f:spec":{}}}]},
 "spec":{"kubernetesVersion":"v1.26.15+rke2r1","rkeConfig":{"additionalManifest":"a: <b> & c\n","machineGlobalConfig":{"cloud-provider-name":"aws"}}},"status":{"clusterName":"c-m-8kqlhbsd","ready":true}}`
	curlew     = "/apis/management.cattle.io/v3/clusters/c-x7k2p"
	curlewText = `{"apiVersion":"management.cattle.io/v3","kind":"Cluster","metadata":{"name":"c-x7k2p","labels":{"env":"prod"}},
 "spec":{"displayName":"curlew","rancherKubernetesEngineConfig":{"kubernetesVersion":"v1.26.15-rancher1-1","cloudProvider":{"name":"aws"}}},
 "status":{"appliedSpec":{"rancherKubernetesEngineConfig":{}},"conditions":[{"type":"Ready","status":"True"}]}}`
	curlewShadow = `{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"c-x7k2p","namespace":"fleet-default","labels":{"env":"prod"}},"spec":{},"status":{"clusterName":"c-x7k2p"}}`
	imported     = `{"apiVersion":"provisioning.cattle.io/v1","kind":"Cluster","metadata":{"name":"guest","namespace":"fleet-default"},"spec":{},"status":{"clusterName":"c-m-zzzzzzzz"}}`
	ofOrchard    = `{"apiVersion":"management.cattle.io/v3","kind":"Cluster","metadata":{"name":"c-m-8kqlhbsd","labels":{"env":"prod"}},"spec":{"displayName":"orchard"}}`
)

// open starts a Rancher with clusters of all kinds.
func open(t *testing.T) (*ranchertest.Server, *Server) {
	t.Helper()
	r := ranchertest.Start(t)
	for _, text := range []string{orchardText, curlewText, curlewShadow, imported, ofOrchard} {
		r.Put(t, text)
	}
	s := assert.Value(Open(source(t, r)))(t)
	return r, s
}

func source(t *testing.T, r *ranchertest.Server) Source {
	return Source{Connection: kube.Connection{Dial: memnet.Dial, Rancher: r.URL(), TokenFile: r.TokenFile(t), Authority: r.Authority(t), RetryFor: 2 * time.Second}}
}

// find returns one cluster.
func find(t *testing.T, s *Server, name string) Object {
	t.Helper()
	list, err := s.Find(t.Context(), Query{Name: name})
	assert.Mustf(t, err == nil && len(list) == 1, "%v %v", list, err)
	return list[0]
}

// edit is a patch that puts a text in the place of another in an object.
func edit(t *testing.T, o Object, change func(string) string) jsonpatch.Patch {
	t.Helper()
	p, err := jsonpatch.Diff(o.Text, []byte(change(string(o.Text))))
	assert.Mustf(t, err == nil && len(p) != 0, "%v %s", err, p.Bytes())
	return p
}

// onRancher runs a test over a Rancher, with a client of it.
func onRancher(t *testing.T, test func(t *testing.T, r *ranchertest.Server, s *Server)) {
	synctest.Test(t, func(t *testing.T) {
		r, s := open(t)
		test(t, r, s)
	})
}
