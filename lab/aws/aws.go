// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package aws is as much of EC2, classic ELB and the instance metadata service as cloud controllers use.
//
// Invariant: every request is logged with its caller before it is answered, so the log says who wrote
// what and when, in the order in which it happened.
package aws

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The account's fixed parts.
const (
	Region    = "eu-west-1"
	Zone      = "eu-west-1a"
	VPC       = "vpc-00000000000000001"
	Subnet    = "subnet-00000000000000001"
	NodeGroup = "sg-00000000000000001" // the security group of all instances
)

// Call is one request.
type Call struct {
	Time    time.Time `json:"time"`
	Caller  string    `json:"caller"`
	Service string    `json:"service"` // ec2 or elb
	Action  string    `json:"action"`
	Target  string    `json:"target,omitempty"` // what it is about, where one thing is
	Write   bool      `json:"write"`
}

// Fake is an account on a port of its own. Its zero value is of no use; Start makes one.
type Fake struct {
	cluster string
	server  *http.Server
	url     string
	serving sync.WaitGroup

	mu        sync.Mutex
	calls     []Call
	instances []Instance
	groups    []*group
	balancers map[string]*balancer
	metadata  []*http.Server
	refused   map[string]*fault // by action
}

// Start opens an account for a cluster on loopback.
func Start(cluster string) (*Fake, error) {
	f := &Fake{cluster: cluster, balancers: map[string]*balancer{}, refused: map[string]*fault{}}
	f.groups = []*group{{id: NodeGroup, name: "nodes", description: "all nodes", tags: f.owned()}}
	var err error
	f.server, f.url, err = f.serve(http.HandlerFunc(f.answer))
	return f, err
}

// serve answers on a free port of loopback.
func (f *Fake) serve(h http.Handler) (*http.Server, string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	f.serving.Go(func() { _ = s.Serve(l) }) // ends with ErrServerClosed
	return s, "http://" + l.Addr().String(), nil
}

// Stop closes the account.
func (f *Fake) Stop() {
	f.mu.Lock()
	servers := append(f.metadata, f.server)
	f.mu.Unlock()
	for _, s := range servers {
		_ = s.Close()
	}
	f.serving.Wait()
}

// Refuse answers an action with an error from now on, as IAM does where a policy does not allow it. An
// empty code lets it pass again.
func (f *Fake) Refuse(action, code, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.refused, action)
	if code != "" {
		f.refused[action] = &fault{code, message}
	}
}

// Calls returns the log so far.
func (f *Fake) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Call(nil), f.calls...)
}

// Writes returns what changed something, so far.
func (f *Fake) Writes() []Call {
	var writes []Call
	for _, c := range f.Calls() {
		if c.Write {
			writes = append(writes, c)
		}
	}
	return writes
}

// CloudConfig returns the provider's configuration that sends a caller here. With the VPC, subnet, zone
// and cluster in it, the provider needs no metadata service.
func (f *Fake) CloudConfig(caller string) string {
	return fmt.Sprintf("[Global]\nZone = %s\nVPC = %s\nSubnetID = %s\nKubernetesClusterID = %s\n", Zone, VPC, Subnet, f.cluster) + f.Endpoints(caller)
}

// Endpoints returns the part of a provider's configuration that sends a caller here. It goes after a
// configuration that has the rest. Every manager finds the services by the names that its SDK has for them: the
// cloud-controller-manager of 1.34 by those of the second version, and ignores the others (cloud-provider-aws
// pkg/providers/v1/config/config.go at v1.34.3).
func (f *Fake) Endpoints(caller string) string {
	var b strings.Builder
	for i, service := range []struct{ name, path string }{
		{"ec2", "ec2"}, {"elasticloadbalancing", "elb"}, {"EC2", "ec2"}, {"Elastic Load Balancing", "elb"},
	} {
		fmt.Fprintf(&b, "\n[ServiceOverride \"%d\"]\nService = %s\nRegion = %s\nURL = %s/%s/%s\nSigningRegion = %s\n",
			i+1, service.name, Region, f.url, caller, service.path, Region)
	}
	return b.String()
}

// Env returns the credentials of a caller. They are good for nothing else.
func Env() []string {
	return []string{"AWS_ACCESS_KEY_ID=lab", "AWS_SECRET_ACCESS_KEY=lab", "AWS_EC2_METADATA_DISABLED=true", "AWS_REGION=" + Region}
}

// owned returns the tag of what belongs to the cluster.
func (f *Fake) owned() map[string]string {
	return map[string]string{"kubernetes.io/cluster/" + f.cluster: "owned"}
}
