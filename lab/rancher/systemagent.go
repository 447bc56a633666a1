// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/lab/agent"
)

// faults are tries of a machine that fail.
type faults struct {
	tries   int // that are left; below 0 for all
	printed string
}

// FailPlans lets so many tries of a machine's plans fail, below 0 all of them, and none from then on. What
// a try prints is that of its instruction install.
func (d *Downstream) FailPlans(machine string, tries int, printed string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failing == nil {
		d.failing = map[string]*faults{}
	}
	d.failing[machine] = &faults{tries: tries, printed: printed}
}

// fails reports whether the next try of a machine fails, and what it prints.
func (d *Downstream) fails(machine string) (printed string, fails bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.failing[machine]
	if f == nil || f.tries == 0 {
		return "", false
	}
	if f.tries > 0 {
		f.tries--
	}
	return f.printed, true
}

// try is the work of a machine's own agent: it runs what the plan says, and says in the Secret how that
// went. A plan that failed is tried again after a while, max-failures times or forever.
func (r *provisioning) try(ctx context.Context, m Machine, secret *corev1.Secret) error {
	data := agent.PlanSecret(secret.Data)
	p, due, err := data.Due()
	if err != nil || !due || r.isSuspended(m.Name) {
		return err
	}
	if printed, fails := r.fails(m.Name); fails {
		if err := data.Failed(printed); err != nil {
			return err
		}
		return r.keep(ctx, secret)
	}
	if err := r.run(ctx, m, p); err != nil {
		return err
	}
	probes := []string{"kubelet"}
	if m.ControlPlane {
		probes = []string{"kube-apiserver", "kube-controller-manager"}
	}
	if err := data.Succeeded(probes...); err != nil {
		return err
	}
	if err := r.keep(ctx, secret); err != nil {
		return err
	}
	kube.Pause(ctx, r.Pause)
	return ctx.Err()
}

func (r *provisioning) keep(ctx context.Context, secret *corev1.Secret) error {
	_, err := r.Server.client.CoreV1().Secrets(Namespace).Update(ctx, secret, metav1.UpdateOptions{})
	return err
}
