// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"regexp"
	"slices"
	"time"
)

// Acquisition is a lease that a manager got.
type Acquisition struct {
	Lease string // its name
	At    time.Time
}

// What a manager logs when it gets a lease (client-go, tools/leaderelection). Events go another way, so the
// second may come first.
var (
	won = regexp.MustCompile(`successfully acquired lease kube-system/([a-z-]+)`)
	led = regexp.MustCompile(`object="kube-system/([a-z-]+)".* message="(\S+) became leader"`)
)

func (m *Manager) read(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found := won.FindStringSubmatch(line); found != nil {
		m.acquired = append(m.acquired, Acquisition{Lease: found[1], At: time.Now()})
	}
	if found := led.FindStringSubmatch(line); found != nil {
		m.holder = found[2]
	}
}

// Acquired returns the leases that the manager got, in their order.
func (m *Manager) Acquired() []Acquisition {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.acquired)
}

// Holder is how the manager calls itself in the leases that it holds; "" while it has not said so.
func (m *Manager) Holder() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.holder
}
