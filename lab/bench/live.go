// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/pem"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/fleet"
	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
)

// verify compares rke-lm verify with what people look at provider IDs with, on one real API server.
func (b *bench) verify(ctx context.Context) (string, error) {
	c, err := cluster.Start(ctx, b.path("cluster"), cluster.LastInTree, cluster.Short)
	if err != nil {
		return "", err
	}
	defer c.Stop()
	b.server = c.Version
	if err := b.fill(ctx, c); err != nil {
		return "", err
	}
	direct, err := c.Kubeconfig(cluster.Admin)
	if err != nil {
		return "", err
	}
	p, err := startProxy(c.Config(cluster.Admin))
	if err != nil {
		return "", err
	}
	defer p.Close()
	counted, err := p.kubeconfig(b.path("counted.kubeconfig"))
	if err != nil {
		return "", err
	}
	ours := b.rkelm("verify", []string{"verify", "--stage", "verify-provider-ids"})
	ours.finds = inVerdict(b.nodes)
	get := &row{name: "kubectl get nodes -o json | jq", commands: [][]string{{b.kubectl, "get", "nodes", "-o", "json"}, {b.jq.path, "-r", `.items[] | .metadata.name + " " + .spec.providerID`}}, finds: eachNode(b.nodes)}
	rows := []*row{ours, get}
	for _, r := range rows {
		if err := b.count(ctx, p, r, counted); err != nil {
			return "", err
		}
		r.costs, r.env = nil, []string{"KUBECONFIG=" + direct}
	}
	if err := b.measure(ctx, rows...); err != nil {
		return "", err
	}
	if b.describe { // which takes minutes, and is timed while it is counted
		r := &row{name: "kubectl describe nodes | grep ProviderID", commands: [][]string{{b.kubectl, "describe", "nodes"}, {"grep", "ProviderID"}}, finds: eachNode(b.nodes)}
		if err := b.count(ctx, p, r, counted); err != nil {
			return "", err
		}
		rows = append(rows, r)
	}
	title := fmt.Sprintf("%d nodes of %.1f kB, kube-apiserver %s, kubectl %s, %s", b.nodes, float64(b.nodeSize)/1e3, b.server, build.Kubectl.Version, b.jq.name)
	return table(title, append(costs(ours), answers...), rows,
		atMost("memory of rke-lm verify, MB", 150, ours.megabytes()), atLeast("kubectl get | jq, in times of rke-lm verify", 5, get.seconds()/ours.seconds())), nil
}

// answers are the columns of what an API server sent.
var answers = []column{
	{"answers", "%.1f MB", func(r *row) float64 { return float64(r.bytes) / 1e6 }},
	{"requests", "%.0f", func(r *row) float64 { return float64(r.requests) }},
}

// count runs a row through the proxy. kubectl keeps what it reads of the API, so it runs once before.
func (b *bench) count(ctx context.Context, p *proxy, r *row, counted string) error {
	b.show("counting: " + r.name)
	warm := row{commands: [][]string{{b.kubectl, "get", "node", nodeName(0)}}, env: []string{"KUBECONFIG=" + counted}}
	if err := warm.run(ctx); err != nil {
		return err
	}
	p.requests.Store(0)
	p.bytes.Store(0)
	r.env = warm.env
	err := r.run(ctx)
	r.requests, r.bytes = p.requests.Load(), p.bytes.Load()
	return err
}

// status compares rke-lm status of a Rancher with a list of the same clusters by kubectl, which checks nothing. All
// clusters are objects of a real API server, read through the paths and with a token of Rancher.
func (b *bench) status(ctx context.Context) (string, error) {
	s, err := rancher.Start(ctx, b.path("rancher"), cluster.Short)
	if err != nil {
		return "", err
	}
	defer s.Stop()
	if err := b.provision(ctx, s); err != nil {
		return "", err
	}
	token := b.path("token")
	if err := os.WriteFile(token, []byte(s.Token()), 0o600); err != nil {
		return "", err
	}
	config, err := cluster.WriteKubeconfig(b.path("rancher.kubeconfig"), &api.Cluster{Server: s.URL() + "/k8s/clusters/local", CertificateAuthority: s.CA()}, s.Token())
	if err != nil {
		return "", err
	}
	ours := b.rkelm("status", []string{"status", "--rancher-url", s.URL(), "--cacert", s.CA(), "--token-file", token})
	list := &row{name: "kubectl get clusters -o json | jq", commands: [][]string{{b.kubectl, "get", "clusters.provisioning.cattle.io", "-A", "-o", "json"}, {b.jq.path, "-r", `.items[] | .metadata.namespace + "/" + .metadata.name + " " + .spec.kubernetesVersion`}}}
	for _, r := range []*row{ours, list} {
		r.finds, r.env = eachCluster(b.clusters), []string{"KUBECONFIG=" + config}
		before := len(s.Requests())
		if err := r.run(ctx); err != nil { // kubectl keeps what it read of the API
			return "", err
		}
		r.requests, r.costs = int64(len(s.Requests())-before), nil
	}
	if err := b.measure(ctx, ours, list); err != nil {
		return "", err
	}
	columns := append([]column{{"first row", "%.2f s", (*row).firstRow}}, append(costs(ours), answers[1])...)
	return table(fmt.Sprintf("%d clusters of a Rancher", b.clusters), columns, []*row{ours, list}, atMost("the first row of rke-lm status, s", 1, ours.firstRow())), nil
}

// provision makes the objects of the clusters.
func (b *bench) provision(ctx context.Context, s *rancher.Server) error {
	config := s.Local.Config(cluster.Admin)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	objects := client.Resource(schema.GroupVersionResource{Group: "provisioning.cattle.io", Version: "v1", Resource: "clusters"}).Namespace(rancher.Namespace)
	for i := range b.clusters {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(fleet.Cluster(i)), &o.Object); err != nil {
			return err
		}
		o.SetNamespace(rancher.Namespace)
		o.SetResourceVersion("")
		o.SetUID("")
		if _, err := objects.Create(ctx, &o, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("cluster %d: %w", i, err)
		}
		if i%50 == 0 {
			b.show(fmt.Sprintf("making cluster %d of %d", i, b.clusters))
		}
	}
	return nil
}

// eachNode is a line with a provider ID for each node, and inVerdict that the verdict is about all nodes.
func eachNode(nodes int) map[string]int { return map[string]int{"aws:///": nodes, "\n": nodes + 1} }
func inVerdict(nodes int) map[string]int {
	return map[string]int{fmt.Sprintf("%d of %d", nodes, nodes): 1}
}

// eachCluster is a line for each cluster; Rancher's own is in another namespace.
func eachCluster(clusters int) map[string]int {
	return map[string]int{"\n" + rancher.Namespace + "/": clusters}
}

func authority(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
