// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/lab/process"
)

// patience is how long a part of the control plane may take to become ready on a machine that does much else.
const patience = 3 * time.Minute

// await waits until a part of the control plane is ready. When it ends or takes too long, the error tells its
// last words, since its log is gone with the test.
func (c *Cluster) await(ctx context.Context, name string, p *process.Process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lab: %s is not ready: %w; it said: %s", name, err, c.lastWords(name))
		case <-p.Ended():
			return fmt.Errorf("lab: %s ended: %v; it said: %s", name, p.Err(), c.lastWords(name))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// lastWords returns the end of a component's log.
func (c *Cluster) lastWords(name string) string {
	const most = 2000
	text, err := os.ReadFile(c.path(name + ".log"))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-most):]))
}

// storeReady reports whether etcd serves: kube-apiserver ends when it does not find it for 20 seconds.
func (c *Cluster) storeReady(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.store+"/health", nil)
	if err != nil {
		return err
	}
	answer, err := asking.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd says %s", answer.Status)
	}
	return nil
}

// ready reports whether the API server serves and has made the namespaces that Kubernetes starts with.
func (c *Cluster) ready(ctx context.Context) error {
	client, err := c.Client(Admin)
	if err != nil {
		return err
	}
	if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return err
	}
	// The server makes these a moment after it is ready.
	for _, namespace := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
		if _, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); err != nil {
			return err
		}
	}
	return nil
}
