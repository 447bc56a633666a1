// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
)

func (j *evaluation) loadBalancerChanged() []transform.Finding {
	if j.Before == nil {
		return nil
	}
	was := map[string][]string{}
	for _, s := range j.Before.LoadBalancers {
		was[s.Namespace+"/"+s.Name] = s.Hosts
	}
	var list []transform.Finding
	for _, s := range j.Services {
		before, known := was[s.Namespace+"/"+s.Name]
		if known && len(before) > 0 && !slices.Equal(before, s.Hosts) {
			now := "nothing"
			if len(s.Hosts) > 0 {
				now = strings.Join(s.Hosts, ", ")
			}
			list = append(list, found(servicePath(s), fmt.Sprintf("its load balancer was %s and is %s", strings.Join(before, ", "), now), "update DNS records to the new one, and find the old one in AWS"))
		}
	}
	return list
}
