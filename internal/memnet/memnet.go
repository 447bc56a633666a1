// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package memnet is a network in memory, for tests. In a bubble of testing/synctest
// the clock moves on as soon as every goroutine waits. That is not known of a socket;
// it can of these connections.
//
// Invariant: nothing leaves the process, what was written before a connection ends is
// read, and an address where no one listens refuses connections.
package memnet

import (
	"context"
	"net"
	"strconv"
	"sync"
	"syscall"
)

// network knows who listens. No two listeners have had one address, so a test never
// reaches a server of another.
var network = struct {
	sync.Mutex
	listeners map[string]*Listener
	port      uint64
}{listeners: map[string]*Listener{}, port: firstPort}

// firstPort leaves ports where no one ever listens.
const firstPort = 1024

// backlog is how many connections may wait to be accepted.
const backlog = 256

// Listener is a net.Listener that can also end the connections that were dialed.
type Listener struct {
	addr    address
	waiting chan net.Conn

	mu     sync.Mutex
	closed bool
	conns  []net.Conn // the server's ends
}

// Listen listens at an address of its own. It is a loopback address: clients use no
// proxy for it.
func Listen() *Listener {
	network.Lock()
	port := network.port
	network.port++
	network.Unlock()
	return listen(net.JoinHostPort("127.0.0.1", strconv.FormatUint(port, 10)))
}

// Again listens at the address of a listener that is closed.
func (l *Listener) Again() *Listener { return listen(string(l.addr)) }

func listen(at string) *Listener {
	l := &Listener{addr: address(at), waiting: make(chan net.Conn, backlog)}
	network.Lock()
	defer network.Unlock()
	if network.listeners[at] != nil {
		panic("memnet: two listeners at " + at) // a mistake in the test
	}
	network.listeners[at] = l
	return l
}

// Dial connects to a listener. It has the type that transports have for it.
func Dial(ctx context.Context, protocol, at string) (net.Conn, error) {
	network.Lock()
	l := network.listeners[at]
	network.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if l != nil {
		if c := l.connect(); c != nil {
			return c, nil
		}
	}
	return nil, &net.OpError{Op: "dial", Net: protocol, Addr: address(at), Err: syscall.ECONNREFUSED}
}

// connect returns the client's end of a connection, nil when it is refused.
func (l *Listener) connect() net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.waiting) == cap(l.waiting) {
		return nil
	}
	client, server := pipe()
	l.conns = append(l.conns, server)
	l.waiting <- server
	return client
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	if c := <-l.waiting; c != nil {
		return c, nil
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener: connections that were accepted stay.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	network.Lock()
	delete(network.listeners, string(l.addr))
	network.Unlock()
	close(l.waiting)
	return nil
}

// Drop ends all connections, silently of TLS: their machine is gone.
func (l *Listener) Drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.addr }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
