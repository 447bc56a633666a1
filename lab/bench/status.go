// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/fleet"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
)

const (
	statusName = "rke-lm status"
	listName   = "kubectl get clusters -o json | jq"
)

// status compares rke-lm status of a Rancher with a list of the same clusters by kubectl. All clusters are objects of
// a real API server, below the paths and tokens of Rancher.
func (b *bench) status(ctx context.Context) error {
	s, err := rancher.Start(ctx, filepath.Join(b.folder, "rancher"), cluster.Short)
	if err != nil {
		return err
	}
	defer s.Stop()
	if err := b.provision(ctx, s); err != nil {
		return err
	}
	token := filepath.Join(b.folder, "token")
	if err := os.WriteFile(token, []byte(s.Token()), 0o600); err != nil {
		return err
	}
	config, err := throughRancher(s, filepath.Join(b.folder, "rancher.kubeconfig"))
	if err != nil {
		return err
	}
	rows := []*row{
		{name: statusName, commands: [][]string{{b.ours, "status", "--rancher-url", s.URL(), "--cacert", s.CA(), "--token-file", token}}, found: foundClusters(b.clusters)},
		{name: listName, commands: [][]string{{b.kubectl, "get", "clusters.provisioning.cattle.io", "-A", "-o", "json"}, {b.jq.path, "-r", `.items[] | .metadata.namespace + "/" + .metadata.name + " " + .spec.kubernetesVersion`}}, found: foundClusters(b.clusters)},
	}
	for _, r := range rows {
		r.direct, r.folder = config, b.folder
		before := len(s.Requests())
		if err := r.run(ctx, r.direct); err != nil { // kubectl keeps what it read of the API
			return err
		}
		r.requests, r.costs = int64(len(s.Requests())-before), nil
	}
	for round := range b.rounds {
		for _, r := range rows {
			b.say(fmt.Sprintf("round %d of %d: %s", round+1, b.rounds, r.name))
			if err := r.time(ctx); err != nil {
				return err
			}
		}
	}
	b.say("")
	b.printStatus(os.Stdout, rows)
	return nil
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
			return fmt.Errorf("bench: cluster %d: %w", i, err)
		}
		if i%50 == 0 {
			b.say(fmt.Sprintf("making cluster %d of %d", i, b.clusters))
		}
	}
	return nil
}

// throughRancher writes a kubeconfig for Rancher's own cluster, as Rancher makes them.
func throughRancher(s *rancher.Server, file string) (string, error) {
	return cluster.WriteKubeconfig(file, &api.Cluster{Server: s.URL() + "/k8s/clusters/local", CertificateAuthority: s.CA()}, s.Token())
}

// foundClusters wants a line for each cluster; Rancher's own is in another namespace.
func foundClusters(clusters int) func(string) error {
	return func(out string) error {
		if n := strings.Count("\n"+out, "\n"+rancher.Namespace+"/"); n != clusters {
			return fmt.Errorf("it has %d of %d clusters", n, clusters)
		}
		return nil
	}
}

// printStatus writes the table of status.
func (b *bench) printStatus(out io.Writer, rows []*row) {
	fmt.Fprintf(out, "\n%d clusters of a Rancher, on the same API server, through Rancher's paths\n\n", b.clusters)
	w := tabwriter.NewWriter(out, 0, 4, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "first row\ttime\tCPU\tmemory\trequests\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%.2f s\t%.2f s\t%.2f s\t%.0f MB\t%d\t  %s\n", r.firstRow(), r.seconds(), r.work(), r.megabytes(), r.requests, r.name)
	}
	w.Flush()
	first := rows[0].firstRow()
	fmt.Fprintln(out)
	fmt.Fprintln(out, aim("the first row of "+statusName+", within 1 s", first, " s", first <= time.Second.Seconds()))
}
