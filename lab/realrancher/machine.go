// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/lab/agent"
	"github.com/rke-lm/rke-lm/lab/aws"
)

// Roles are those of a machine.
type Roles struct{ ControlPlane, Etcd, Worker bool }

// Machine is one of a cluster, with the agent that runs its plans. It replaces the system-agent and RKE2: it takes
// its plan from the Secret that Rancher names, through Rancher and with the token that Rancher gives it, keeps
// the files in it, and reports that the plan is applied and its probes pass. It runs no instruction. In a cluster
// that is connected its kubelet and its managers run with the configuration in the plan.
type Machine struct {
	Roles
	ID   string // with which it registered
	Name string // of the Machine that Rancher made

	cluster           *Cluster
	instance          aws.Instance
	client            kubernetes.Interface // as the machine, through Rancher
	namespace, secret string
	cancel            context.CancelFunc
	ended             chan struct{}

	mu      sync.Mutex
	files   map[string]string // of the plan that it runs, by path
	failing int               // tries that are to fail
	stalled bool              // it looks at no plan
	fault   error
}

// AddMachine lets a machine join, as Rancher's script does on it: it asks with its roles and labels, and gets its own
// access to its plan.
func (c *Cluster) AddMachine(ctx context.Context, id string, roles Roles, labels map[string]string) (_ *Machine, err error) {
	m := &Machine{Roles: roles, ID: id, cluster: c, ended: make(chan struct{}), files: map[string]string{}}
	if m.instance, err = c.launch(); err != nil {
		return nil, err
	}
	if err := m.join(ctx, labels); err != nil {
		return nil, fmt.Errorf("realrancher: machine %s: %w", id, err)
	}
	c.Machines = append(c.Machines, m)
	following, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	go m.follow(following)
	return m, nil
}

// request has the roles and the labels of the machine.
func (m *Machine) request(ctx context.Context, labels map[string]string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.cluster.server.url+"/v3/connect/agent", nil)
	if err != nil {
		return nil, err
	}
	list := []string{"cattle.io/os=linux"}
	for key, value := range labels {
		list = append(list, key+"="+value)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + m.cluster.token, "X-Cattle-Id": m.ID, "X-Cattle-Address": m.instance.IP, "X-Cattle-Internal-Address": m.instance.IP,
		"X-Cattle-Labels": strings.Join(list, ","), "X-Cattle-Role-Control-Plane": fmt.Sprint(m.ControlPlane),
		"X-Cattle-Role-Etcd": fmt.Sprint(m.Etcd), "X-Cattle-Role-Worker": fmt.Sprint(m.Worker),
	} {
		request.Header.Set(name, value)
	}
	return request, nil
}

// joinTimeout is for how long a machine asks again; Rancher's script gives up much later.
const joinTimeout = 3 * time.Minute

// join asks until Rancher answers, as its script does whatever else the answer is (rancher/system-agent install.sh,
// retrieve_connection_info).
func (m *Machine) join(ctx context.Context, labels map[string]string) (err error) {
	for deadline := time.Now().Add(joinTimeout); time.Now().Before(deadline) && ctx.Err() == nil; kube.Pause(ctx, time.Second) {
		if err = m.connect(ctx, labels); err == nil {
			return nil
		}
	}
	return cmp.Or(err, ctx.Err())
}

// connect asks once, and takes what Rancher answers.
func (m *Machine) connect(ctx context.Context, labels map[string]string) error {
	request, err := m.request(ctx, labels)
	if err != nil {
		return err
	}
	answer, err := trusting.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the answer is %s", answer.Status)
	}
	var given struct{ Namespace, SecretName, KubeConfig string }
	if err := json.NewDecoder(answer.Body).Decode(&given); err != nil {
		return err
	}
	m.namespace, m.secret = given.Namespace, given.SecretName
	m.Name = strings.TrimSuffix(m.secret, "-machine-plan")
	access, err := clientcmd.RESTConfigFromKubeConfig([]byte(given.KubeConfig))
	if err != nil {
		return err
	}
	access.QPS, access.Burst = 50, 100
	m.client, err = kubernetes.NewForConfig(access)
	return err
}

// follow looks at the plan again and again. What fails is tried again with the next observation.
func (m *Machine) follow(ctx context.Context) {
	defer close(m.ended)
	for ctx.Err() == nil {
		err := m.observe(ctx)
		m.mu.Lock()
		m.fault = err
		m.mu.Unlock()
		kube.Pause(ctx, 500*time.Millisecond)
	}
}

func (m *Machine) stop() {
	m.cancel()
	<-m.ended
}

// of is the machine as RKE2 knows it. Its host has the name of its instance.
func (m *Machine) of() agent.Machine {
	return agent.Machine{Name: m.instance.Name, Host: m.instance.Name, ControlPlane: m.ControlPlane, Etcd: m.Etcd, Worker: m.Worker, Instance: m.instance}
}

// Fault returns what keeps the machine from following now, if anything.
func (m *Machine) Fault() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fault
}

// File returns a file of the plan that the machine runs.
func (m *Machine) File(path string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, has := m.files[path]
	return text, has
}

// Config returns the configuration with which RKE2 runs, as Rancher rendered it.
func (m *Machine) Config() (map[string]any, error) {
	text, has := m.File(configFile)
	if !has {
		return nil, fmt.Errorf("realrancher: machine %s has no configuration", m.ID)
	}
	var config map[string]any
	return config, json.Unmarshal([]byte(text), &config)
}
