// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken from below those that systems give to whoever connects or asks for any port (Linux from
// 32768, others from 49152): one that is free now is then free as well when a program has come so far as to
// listen on it, and when that program is started again.
const firstPort, endOfPorts = 20000, 32768

// reservePort returns a TCP port of loopback that no one listens on and that no other cluster takes, of this
// process or another one, until its mark is closed.
func reservePort() (port string, mark io.Closer, err error) {
	for range 100 {
		port = strconv.Itoa(firstPort + rand.IntN(endOfPorts-firstPort))
		if mark, err = markPort(port); err == nil {
			return port, mark, nil
		}
	}
	return "", nil, errors.New("lab: no free port of loopback; the last one tried: " + err.Error())
}

// markPort takes the UDP port of the same number, which no part of the lab listens on: only one can have it,
// and the system gives it back whatever becomes of the holder.
func markPort(port string) (io.Closer, error) {
	address := net.JoinHostPort("127.0.0.1", port)
	mark, err := net.ListenPacket("udp", address)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		mark.Close()
		return nil, err
	}
	return mark, listener.Close()
}

// ReservePair returns the first of two ports that lie next to each other, and the marks of both.
func ReservePair() (first int, marks []io.Closer, err error) {
	for range 100 {
		port, mark, err := reservePort()
		if err != nil {
			return 0, nil, err
		}
		first, err := strconv.Atoi(port)
		if err != nil {
			return 0, nil, err
		}
		next, err := markPort(strconv.Itoa(first + 1))
		if err == nil {
			return first, []io.Closer{mark, next}, nil
		}
		mark.Close()
	}
	return 0, nil, errors.New("lab: no two free ports of loopback next to each other")
}

// port takes a port for as long as the cluster lives.
func (c *Cluster) port() (string, error) {
	port, mark, err := reservePort()
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ports = append(c.ports, mark)
	return port, nil
}
