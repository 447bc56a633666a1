// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// connect asks for a connection as kube-apiserver does, and returns what the other side says of it and then.
func connect(t *testing.T, e *Egress, address, say string) (status, heard string) {
	t.Helper()
	conn := assert.Value(net.Dial("unix", e.socket))(t)
	defer conn.Close()
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", address)
	from := bufio.NewReader(conn)
	answer := assert.Value(http.ReadResponse(from, &http.Request{Method: http.MethodConnect}))(t)
	if answer.StatusCode != http.StatusOK {
		return answer.Status, ""
	}
	fmt.Fprint(conn, say)
	back := make([]byte, len(say))
	if _, err := io.ReadFull(from, back); err != nil {
		t.Fatal(err)
	}
	return answer.Status, string(back)
}

func TestAConnectionToAServiceReachesItsProgram(t *testing.T) {
	program := assert.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer program.Close()
	go func() {
		conn, err := program.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		io.Copy(conn, conn)
	}()
	e := assert.Value(StartEgress())(t)
	defer e.Stop()
	if status, _ := connect(t, e, "10.43.0.7:443", ""); !strings.Contains(status, "no Service is known yet") {
		t.Error(status)
	}
	service := func(name, ip string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{ClusterIP: ip}}
	}
	e.Use(fake.NewClientset(service("rancher-webhook", "10.43.0.7"), service("other", "10.43.0.8")))
	e.Lead(namespace+"/rancher-webhook", program.Addr().String())
	if status, heard := connect(t, e, "10.43.0.7:443", "hello"); heard != "hello" {
		t.Error(status, heard)
	}
	for address, says := range map[string]string{"10.43.0.8:443": "no program for Service cattle-system/other", "10.43.0.9:443": "no Service has the address"} {
		if status, _ := connect(t, e, address, ""); !strings.Contains(status, says) {
			t.Errorf("%s: %s", address, status)
		}
	}
}
