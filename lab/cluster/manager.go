// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/lab/aws"
	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/process"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
)

// Component is one of the two managers.
type Component string

// The managers.
const (
	KCM Component = "kube-controller-manager"
	CCM Component = "cloud-controller-manager"
)

// Spec says which manager runs on a machine, and how.
type Spec struct {
	Component Component
	Machine   string
	Minor     string   // of a cloud-controller-manager's program, such as "v1.26"
	Args      []string // the cluster's own; they come last, so they win
	// CloudConfig is the cluster's own configuration of the provider, which gets the lab's endpoints; with ""
	// the lab makes all of it.
	CloudConfig string
}

// Manager is one process of a manager, running or ended. It is never started again; another one is.
type Manager struct {
	Spec
	Started time.Time
	// Migration is its LeaderMigrationConfiguration, as the file was when it started; nil for none.
	Migration []byte

	process *process.Process
	port    string
	done    chan struct{} // closed when it is known when the process ended

	mu       sync.Mutex
	acquired []Acquisition
	holder   string // how it calls itself in leases
	ended    time.Time
}

// StartManager starts a manager. It may end by itself, as managers that lose their lease do.
func (c *Cluster) StartManager(ctx context.Context, spec Spec) (*Manager, error) {
	m := &Manager{Spec: spec, Started: time.Now(), done: make(chan struct{})}
	path, first, err := c.program(ctx, spec)
	if err != nil {
		return nil, err
	}
	if m.Migration, err = migration(spec.Args); err != nil {
		return nil, err
	}
	given, err := c.given(m)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m.process, err = process.Start(process.Command{
		Path: path, Args: slices.Concat(first, given, spec.Args), Env: append(environment(), aws.Env()...),
		Log: c.path(fmt.Sprintf("%s-%s-%d.log", spec.Machine, spec.Component, len(c.managers))), Line: m.read,
	})
	if err != nil {
		return nil, err
	}
	c.managers = append(c.managers, m)
	go m.watch()
	return m, nil
}

// migration reads the LeaderMigrationConfiguration that arguments name, if any. The file may be gone when
// someone asks what the manager did.
func migration(list []string) ([]byte, error) {
	var named []args.Arg
	for _, text := range list {
		named = append(named, args.Parse(text))
	}
	file, set := args.Last(named, leadermigration.ConfigFlag)
	if !set {
		return nil, nil
	}
	return os.ReadFile(file.Value)
}

// program returns the manager's program and what has to come before its arguments.
func (c *Cluster) program(ctx context.Context, spec Spec) (string, []string, error) {
	if spec.Component == KCM {
		return c.binary, []string{string(KCM)}, nil
	}
	p, err := build.CloudControllerManager(spec.Minor)
	if err != nil {
		return "", nil, err
	}
	path, err := p.Path(ctx)
	return path, nil, err
}

// given returns the arguments that do not come from the cluster: where the API server and the cloud are,
// and for a kube-controller-manager those that RKE2 itself sets.
func (c *Cluster) given(m *Manager) ([]string, error) {
	user := map[Component]string{KCM: KubeControllerManager, CCM: CloudControllerManager}[m.Component]
	kubeconfig, err := c.Kubeconfig(user)
	if err != nil {
		return nil, err
	}
	config, text := c.path(m.Caller()+".conf"), c.AWS.CloudConfig(m.Caller())
	if m.CloudConfig != "" {
		text = m.CloudConfig + "\n" + c.AWS.Endpoints(m.Caller())
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if m.port, err = c.port(); err != nil {
		return nil, err
	}
	args := append([]string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port=" + m.port, "--cert-dir=" + c.path("tls-"+m.Caller()),
		"--cloud-config=" + config,
	}, c.Timing.flags()...)
	if m.Component == CCM {
		return c.webhook(m, args)
	}
	return append(args,
		"--allocate-node-cidrs=true", "--cluster-cidr="+PodNetwork, "--service-cluster-ip-range="+ServiceNetwork,
		"--controllers=*,tokencleaner", "--use-service-account-credentials=true", "--profiling=false",
		"--service-account-private-key-file="+c.path("service.key"), "--root-ca-file="+c.certificate(),
		"--flex-volume-plugin-dir="+c.path("volume-plugins"),
		// No kubelet reports here, and no one is to take the nodes for dead.
		"--node-monitor-grace-period=1h"), nil
}

// webhook moves the second port of newer cloud-controller-managers, which is fixed and open to everyone.
func (c *Cluster) webhook(m *Manager, args []string) ([]string, error) {
	if semver.Compare(m.Minor, "v1.27") < 0 {
		return args, nil
	}
	port, err := c.port()
	return append(args, "--webhook-bind-address=127.0.0.1", "--webhook-secure-port="+port), err
}

// Caller is the manager's name in the log of AWS.
func (m *Manager) Caller() string { return string(m.Component) + "@" + m.Machine }

func (m *Manager) watch() {
	defer close(m.done)
	<-m.process.Ended()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = time.Now()
}

// EndedAt returns when the manager ended; false says that it has not.
func (m *Manager) EndedAt() (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended, !m.ended.IsZero()
}

// Ended is closed when the manager has ended, and EndedAt tells when.
func (m *Manager) Ended() <-chan struct{} { return m.done }

// Alive reports whether the manager is running.
func (m *Manager) Alive() bool { return m.process.Alive() }

// Stop ends the manager as the kubelet ends a pod.
func (m *Manager) Stop() {
	m.process.Stop(30 * time.Second)
	<-m.done
}

// Kill ends the manager at once, as a lost machine does.
func (m *Manager) Kill() {
	m.process.Kill()
	<-m.done
}

// Freeze lets the manager run and do nothing, as on a machine that hangs, until Thaw. Its lease dies meanwhile.
func (m *Manager) Freeze() { m.process.Freeze() }

// Thaw lets a frozen manager continue.
func (m *Manager) Thaw() { m.process.Thaw() }

// Asked reports whether someone ended the manager; else it ended by itself, if it has.
func (m *Manager) Asked() bool { return m.process.Asked() }

// LogTail returns the end of the manager's output.
func (m *Manager) LogTail() string { return m.process.LogTail() }

// Logged reports whether the manager has written a text.
func (m *Manager) Logged(text string) bool {
	return len(m.process.Lines(1, func(line string) bool { return strings.Contains(line, text) })) > 0
}

// Managers returns all managers that were ever started, in their order.
func (c *Cluster) Managers() []*Manager {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.managers)
}
