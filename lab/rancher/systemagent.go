// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1/plan"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
)

// cooldown is how long an agent waits after a try that failed, longer than a run looks away; the real one
// waits for 30 seconds (system-agent pkg/k8splan).
const cooldown = 10 * time.Second

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
	if r.isHeld(m.Name) || rests(secret.Data) {
		return nil
	}
	var p plan.NodePlan
	if err := json.Unmarshal(secret.Data["plan"], &p); err != nil {
		return err
	}
	printed, fails := r.fails(m.Name)
	data := secret.Data
	data["last-apply-time"] = []byte(time.Now().Format(time.UnixDate))
	if fails {
		output, err := zipped(map[string][]byte{"install": []byte(printed)})
		if err != nil {
			return err
		}
		data["failed-checksum"], data["failed-output"], data["success-count"] = []byte(hash(data["plan"])), output, []byte("0")
		data["failure-count"] = []byte(strconv.Itoa(count(data["failure-count"], 0) + 1)) // that of another plan continues
		return r.keep(ctx, secret)
	}
	if err := r.run(ctx, m, p); err != nil {
		return err
	}
	output, err := zipped(map[string][]byte{})
	if err != nil {
		return err
	}
	data["applied-checksum"], data["applied-output"] = []byte(hash(data["plan"])), output
	data["failed-checksum"], data["failed-output"], data["failure-count"] = nil, nil, []byte("0")
	data["success-count"] = []byte(strconv.Itoa(count(data["success-count"], 0) + 1))
	data["probe-statuses"] = []byte(`{"kubelet":{"healthy":true,"successCount":1}}`)
	if m.ControlPlane {
		data["probe-statuses"] = []byte(`{"kube-apiserver":{"healthy":true,"successCount":1},"kube-controller-manager":{"healthy":true,"successCount":1}}`)
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

// rests reports whether the agent leaves a plan that failed alone, for a while or for good.
func rests(data map[string][]byte) bool {
	failures := count(data["failure-count"], 0)
	if failures == 0 || string(data["failed-checksum"]) != hash(data["plan"]) {
		return false
	}
	if most := count(data["max-failures"], -1); most != -1 && failures >= most {
		return true
	}
	last, err := time.Parse(time.UnixDate, string(data["last-apply-time"]))
	return err == nil && time.Since(last) < cooldown
}

// count reads a number of a Secret.
func count(text []byte, otherwise int) int {
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return otherwise
	}
	return n
}

// zipped are outputs as the agent keeps them.
func zipped(outputs map[string][]byte) ([]byte, error) {
	text, err := json.Marshal(outputs)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}
