// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
)

// Restarts compares the configuration of the components: rke up replaces the containers
// whose arguments change, on the control planes first and then on the workers. An addon
// restarts nothing.
func (m *migration) Restarts(after transform.Cluster) []transform.Restart {
	a, is := after.(*migration)
	if !is {
		return nil
	}
	differs := func(keys ...string) bool {
		return !reflect.DeepEqual(m.get(keys...).Value(), a.get(keys...).Value())
	}
	everywhere := differs(providerKey) || m.Version != a.Version
	var servers, agents []string
	for _, c := range []struct {
		name, key string
		worker    bool
	}{
		{"kube-apiserver", "kube-api", false},
		{"kube-controller-manager", "kube-controller", false},
		{"kubelet", "kubelet", true},
	} {
		if !everywhere && !differs("services", c.key) {
			continue
		}
		servers = append(servers, c.name)
		if c.worker {
			agents = append(agents, c.name)
		}
	}
	var list []transform.Restart
	if len(servers) > 0 {
		list = append(list, transform.Restart{Process: strings.Join(servers, ", "), Classes: []string{"control planes"}, Order: m.atOnce("max_unavailable_controlplane", "1")})
	}
	if len(agents) > 0 {
		list = append(list, transform.Restart{Process: strings.Join(agents, ", "), Classes: []string{"other nodes"}, Order: m.atOnce("max_unavailable_worker", "10%")})
	}
	return list
}

// atOnce reads how many nodes RKE takes at a time.
func (m *migration) atOnce(key, otherwise string) string {
	text := otherwise
	if v := m.get("upgrade_strategy", key).Value(); v != nil {
		text = fmt.Sprint(v)
	}
	if text == "1" {
		return "one at a time"
	}
	return text + " at a time"
}
