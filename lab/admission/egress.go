// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Egress connects kube-apiserver with the Services of its cluster, as the network of a cluster does: webhooks
// and API services are Services, and no packet goes to their addresses here.
type Egress struct {
	listener net.Listener
	socket   string

	mu       sync.Mutex
	client   kubernetes.Interface
	programs map[string]string // address by namespace/name of the Service
}

// StartEgress listens on a socket: the API server connects to it before it has a client.
func StartEgress() (*Egress, error) {
	dir, err := os.MkdirTemp("", "egress") // the path of a socket has to be short
	if err != nil {
		return nil, err
	}
	e := &Egress{socket: filepath.Join(dir, "s"), programs: map[string]string{}}
	if e.listener, err = net.Listen("unix", e.socket); err != nil {
		return nil, err
	}
	go e.serve()
	return e, nil
}

// Flag writes a file to a folder that makes kube-apiserver connect through the socket, and returns the flag that names it.
func (e *Egress) Flag(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "egress.yaml")
	return "--egress-selector-config-file=" + file, os.WriteFile(file, fmt.Appendf(nil, `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %s
`, e.socket), 0o600)
}

// Lead lets a Service lead to a program.
func (e *Egress) Lead(service, address string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.programs[service] = address
}

// Use lets the Services be known.
func (e *Egress) Use(client kubernetes.Interface) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.client = client
}

// Stop ends it.
func (e *Egress) Stop() {
	e.listener.Close()
	os.RemoveAll(filepath.Dir(e.socket))
}

func (e *Egress) serve() {
	for {
		conn, err := e.listener.Accept()
		if err != nil {
			return
		}
		go e.connect(conn)
	}
}

// connect answers CONNECT and passes bytes on until either side ends.
func (e *Egress) connect(conn net.Conn) {
	defer conn.Close()
	from := bufio.NewReader(conn)
	request, err := http.ReadRequest(from)
	if err != nil {
		return
	}
	to, err := e.dial(request)
	if err != nil {
		fmt.Fprintf(conn, "HTTP/1.1 502 %s\r\n\r\n", strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	defer to.Close()
	fmt.Fprint(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() {
		io.Copy(to, from)
		to.Close()
	}()
	io.Copy(conn, to)
}

func (e *Egress) dial(request *http.Request) (net.Conn, error) {
	service, err := e.service(request.Context(), request.Host)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	address := e.programs[service]
	e.mu.Unlock()
	if address == "" {
		return nil, fmt.Errorf("no program for Service %s", service)
	}
	return net.Dial("tcp", address)
}

// service returns the Service that has an address.
func (e *Egress) service(ctx context.Context, address string) (string, error) {
	ip, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	e.mu.Lock()
	client := e.client
	e.mu.Unlock()
	if client == nil {
		return "", fmt.Errorf("no Service is known yet")
	}
	list, err := client.CoreV1().Services("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, s := range list.Items {
		if s.Spec.ClusterIP == ip {
			return s.Namespace + "/" + s.Name, nil
		}
	}
	return "", fmt.Errorf("no Service has the address %s", address)
}
