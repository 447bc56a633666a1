// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

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

// egress connects kube-apiserver with the Services of its cluster, as the network of a cluster does: webhooks
// and API services are Services, and no packet goes to their addresses here.
type egress struct {
	listener net.Listener
	socket   string

	mu       sync.Mutex
	client   kubernetes.Interface
	programs map[string]string // address by namespace/name of the Service
}

// startEgress listens on a socket: the API server connects to it before it has a client.
func startEgress() (*egress, error) {
	dir, err := os.MkdirTemp("", "egress") // the path of a socket has to be short
	if err != nil {
		return nil, err
	}
	e := &egress{socket: filepath.Join(dir, "s"), programs: map[string]string{}}
	if e.listener, err = net.Listen("unix", e.socket); err != nil {
		return nil, err
	}
	go e.serve()
	return e, nil
}

// config is the flag's file that makes kube-apiserver connect through the socket.
func (e *egress) config() string {
	return fmt.Sprintf(`apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %s
`, e.socket)
}

// lead lets a Service lead to a program.
func (e *egress) lead(service, address string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.programs[service] = address
}

// use lets the Services be known.
func (e *egress) use(client kubernetes.Interface) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.client = client
}

func (e *egress) stop() {
	e.listener.Close()
	os.RemoveAll(filepath.Dir(e.socket))
}

func (e *egress) serve() {
	for {
		conn, err := e.listener.Accept()
		if err != nil {
			return
		}
		go e.connect(conn)
	}
}

// connect answers CONNECT and passes bytes on until either side ends.
func (e *egress) connect(conn net.Conn) {
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

func (e *egress) dial(request *http.Request) (net.Conn, error) {
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
func (e *egress) service(ctx context.Context, address string) (string, error) {
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
