// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestAPortIsTakenUntilItIsReleased(t *testing.T) {
	port, mark, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := markPort(port); err == nil {
		again.Close()
		t.Error("two have the port", port)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal("a program cannot listen on its port: ", err)
	}
	listener.Close()
	mark.Close()
	again, err := markPort(port)
	if err != nil {
		t.Fatal("the port was given back and cannot be taken: ", err)
	}
	again.Close()
}

func TestAPortInUseIsNotTaken(t *testing.T) {
	listener := assert.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for range 2 { // a failure leaves no trace
		if mark, err := markPort(port); err == nil {
			mark.Close()
			t.Error("the port is taken:", port)
		}
		probe, err := net.ListenPacket("udp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal("a mark stayed: ", err)
		}
		probe.Close()
	}
}
