// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/config"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

// Policy is what the operator of the controller permits, whatever a LeaderMigration chooses. It is a file of the
// process, which creators of LeaderMigrations cannot write, and it is read again whenever it is asked.
type Policy struct{ lists map[string][]string } // by their keys; any value is permitted without a list

// The keys of a policy.
const (
	namespaces        = "namespaces"
	chartRepositories = "chart-repositories"
	imageRepositories = "image-repositories"
	optionNames       = "options"
	leastApproval     = "approval"
)

// NotPermitted means that the policy does not permit what a LeaderMigration chooses.
type NotPermitted struct{ text string }

func (n *NotPermitted) Error() string { return n.text }

// ReadPolicy reads a policy; "" is the one without a file: what the published chart installs. One that cannot be read
// permits nothing.
func ReadPolicy(file string) (Policy, error) {
	p := Policy{map[string][]string{chartRepositories: {aws.ChartRepository}, imageRepositories: {}, leastApproval: {v1alpha1.ApprovalNone}}}
	if file == "" {
		return p, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return p, &NotPermitted{"--policy: " + err.Error() + "; check the path and its permissions"}
	}
	settings, err := config.Parse(file, text, map[string]config.Kind{
		namespaces: config.List, chartRepositories: config.List, imageRepositories: config.List, optionNames: config.List, leastApproval: config.Text,
	})
	if err != nil {
		return p, &NotPermitted{"--policy: " + err.Error()}
	}
	for _, s := range settings {
		p.lists[s.Key] = s.Values
	}
	if least := p.lists[leastApproval][0]; !slices.Contains(strictness, least) {
		return p, &NotPermitted{fmt.Sprintf("--policy: %s: approval %q is not one of %s", file, least, strings.Join(strictness, ", "))}
	}
	return p, nil
}

// strictness is what can require a LeaderMigrationApproval, the strictest last.
var strictness = []string{v1alpha1.ApprovalNone, v1alpha1.ApprovalWave, v1alpha1.ApprovalStage}

// stricter is the stricter one of two.
func stricter(a, b string) string {
	return strictness[max(slices.Index(strictness, a), slices.Index(strictness, b), 0)]
}

// Check fails with *NotPermitted where the policy does not permit a choice, the names of options that are set, or
// a cluster, by the namespace of what belongs to it; "" for none.
func (p Policy) Check(t transform.Target, options []string, home string) error {
	type choice struct{ key, value string }
	all := []choice{{namespaces, home}, {chartRepositories, cmp.Or(t.ChartRepo, aws.ChartRepository)}, {imageRepositories, t.ImageRepository}}
	for _, c := range append(all, lists.Map(options, func(name string) choice { return choice{optionNames, name} })...) {
		list, limited := p.lists[c.key]
		same := func(permitted string) bool {
			return strings.TrimSuffix(permitted, "/") == strings.TrimSuffix(c.value, "/")
		}
		if limited && c.value != "" && !slices.ContainsFunc(list, same) {
			return &NotPermitted{fmt.Sprintf("the policy of the controller does not permit %s: %s has %d others; choose one of them, or ask the operator of the controller", c.value, c.key, len(list))}
		}
	}
	return nil
}
