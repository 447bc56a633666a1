// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"time"

	"golang.org/x/mod/semver"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/aws"
	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/process"
)

// Connect gives a cluster an API server of its own version with AWS machines that have not joined yet, so many,
// and opens the tunnel through which Rancher reaches it, as the cluster's agent does.
func (c *Cluster) Connect(ctx context.Context, version string, timing cluster.Timing, machines int) (err error) {
	dir := filepath.Join(c.server.dir, c.Name)
	if c.Downstream, err = cluster.Start(ctx, dir, semver.MajorMinor(version), timing); err != nil {
		return err
	}
	nodes := map[string]string{}
	for n := range machines {
		i := c.Downstream.AWS.Launch(n + 1)
		c.instances = append(c.instances, i)
		nodes[i.Name] = i.Name
	}
	if err := c.Downstream.StartScheduler(ctx); err != nil {
		return err
	}
	if c.kubelets, err = agent.NewKubelets(c.Downstream, filepath.Join(dir, "pods"), nodes); err != nil {
		return err
	}
	if c.rke2, err = agent.StartRKE2(ctx, c.Downstream, c.kubelets, c.server.helm, version); err != nil {
		return err
	}
	return c.open(ctx)
}

// open starts the agent of the cluster.
func (c *Cluster) open(ctx context.Context) error {
	access := c.Downstream.Config(cluster.Admin)
	at, err := url.Parse(access.Host)
	if err != nil {
		return err
	}
	path, err := build.ClusterAgent.Path(ctx)
	if err != nil {
		return err
	}
	c.agent, err = process.Start(process.Command{Path: path, Log: filepath.Join(c.server.dir, "agent-"+c.Name+".log"), Args: []string{
		"-server=" + c.server.url, "-cacert=" + c.server.ca, "-token=" + c.token, "-address=" + at.Host,
		"-cluster-cacert=" + access.TLSClientConfig.CAFile, "-cluster-token=" + access.BearerToken,
	}})
	return err
}

// launch returns the instance of the next machine. In a cluster that is not connected none is launched.
func (c *Cluster) launch() (aws.Instance, error) {
	if c.Downstream == nil {
		n := c.server.number()
		return aws.Instance{IP: fmt.Sprintf("10.20.%d.%d", n/250, n%250+1)}, nil
	}
	if len(c.instances) == 0 {
		return aws.Instance{}, fmt.Errorf("realrancher: all machines of cluster %s have joined", c.Name)
	}
	i := c.instances[0]
	c.instances = c.instances[1:]
	return i, nil
}

// disconnect ends what Connect has started.
func (c *Cluster) disconnect() {
	if c.agent != nil {
		c.agent.Kill()
	}
	if c.rke2 != nil {
		c.rke2.Stop()
	}
	if c.kubelets != nil {
		c.kubelets.Stop()
	}
	if c.Downstream != nil {
		c.Downstream.Stop()
	}
}

// Applied waits until Rancher has applied the cluster's specification on all of its machines, and lets the
// administrator in. Its own user it lets into a new cluster late, and it looks for nodes every quarter of a minute.
func (c *Cluster) Applied(ctx context.Context) error {
	if err := c.await(ctx, "the applied specification", c.isApplied); err != nil {
		return err
	}
	return c.LetsIn(ctx, c.server.token)
}

// LetsIn waits until Rancher lets the user of a token into the cluster, whose permissions it writes there one after the
// other.
func (c *Cluster) LetsIn(ctx context.Context, token string) error {
	client, err := kubernetes.NewForConfig(c.server.Through(token, c.ID))
	if err != nil {
		return err
	}
	began, found := time.Now(), ""
	return c.await(ctx, "a user's access", func(ctx context.Context) (bool, error) {
		_, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: "nodes"}},
		}, metav1.CreateOptions{})
		if err == nil {
			return true, nil
		}
		if time.Since(began) > loginTime {
			found, began = c.again(ctx, token), time.Now()
		}
		return false, fmt.Errorf("%w (%s)", err, found)
	})
}

// loginTime is after how long a user who is not let in logs in again.
const loginTime = 15 * time.Second

// isApplied reads what Rancher says of a change that is applied: the control plane has the specification that
// the cluster has, and says that this is the applied one.
func (c *Cluster) isApplied(ctx context.Context) (bool, error) {
	cp, err := c.objects.Resource(controlPlanes).Namespace(Namespace).Get(ctx, c.Name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	spec, _, _ := unstructured.NestedMap(cp.Object, "spec")
	applied, _, _ := unstructured.NestedMap(cp.Object, "status", "appliedSpec")
	if !reflect.DeepEqual(spec, applied) {
		list, _, _ := unstructured.NestedSlice(cp.Object, "status", "conditions")
		return false, fmt.Errorf("its conditions are %v", list)
	}
	return true, nil
}
