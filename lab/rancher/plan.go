// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1/plan"

	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
)

// render makes the plan of a machine, with one more instruction of RKE2 if there is one.
func (r *provisioning) render(m Machine, read *rke2.Cluster, extra []string) (plan.NodePlan, error) {
	i := slices.IndexFunc(read.Classes, func(c effective.Class) bool { return c.Name == m.Pool })
	if i < 0 {
		return plan.NodePlan{}, fmt.Errorf("rancher: machine %s has lost its pool %s", m.Name, m.Pool)
	}
	manifest, _ := read.RKEConfig().Get("additionalManifest").String()
	p := m.Plan(read.Effective(read.Classes[i]).Values(), read.Version, manifest)
	if extra != nil {
		p.Instructions = append(p.Instructions, plan.OneTimeInstruction{Name: "create", Command: "rke2", Args: extra})
	}
	return p, nil
}

// run does on a machine what its plan says.
func (r *provisioning) run(ctx context.Context, m Machine, p plan.NodePlan) error {
	if slices.ContainsFunc(p.Instructions, func(i plan.OneTimeInstruction) bool { return i.Name == "create" }) {
		r.snapshotTaken()
	}
	files := map[string][]byte{}
	for _, f := range p.Files {
		text, err := base64.StdEncoding.DecodeString(f.Content)
		if err != nil {
			return err
		}
		files[f.Path] = text
	}
	var config map[string]any
	if err := json.Unmarshal(files[ranchertest.ConfigFile], &config); err != nil {
		return err
	}
	r.configure(m.Name, config)
	return r.rke2.Run(ctx, m.of(), config, map[string]string{ranchertest.ManifestFile: string(files[ranchertest.ManifestFile])})
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
