// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1/plan"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// look runs the plan if it is a new one, and says so in the Secret as the system-agent does (rancher/system-agent
// pkg/k8splan).
func (m *Machine) look(ctx context.Context) error {
	secrets := m.client.CoreV1().Secrets(m.namespace)
	secret, err := secrets.Get(ctx, m.secret, metav1.GetOptions{})
	if err != nil {
		return err
	}
	data := secret.Data
	text, sum := data["plan"], hash(data["plan"])
	if len(text) == 0 || string(data["applied-checksum"]) == sum && len(data["probe-statuses"]) > 0 {
		return nil
	}
	var p plan.NodePlan
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	data["last-apply-time"] = []byte(time.Now().Format(time.UnixDate))
	if err := m.run(p); err != nil {
		return err
	}
	probes := map[string]plan.ProbeStatus{}
	for name := range p.Probes {
		probes[name] = plan.ProbeStatus{Healthy: true, SuccessCount: 1}
	}
	if data["probe-statuses"], err = json.Marshal(probes); err != nil {
		return err
	}
	if data["applied-output"], err = zipped(map[string][]byte{}); err != nil {
		return err
	}
	data["applied-checksum"], data["success-count"] = []byte(sum), []byte("1")
	delete(data, "failed-checksum")
	data["failure-count"] = []byte("0")
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return err
}

// run keeps the files of a plan.
func (m *Machine) run(p plan.NodePlan) error {
	files := map[string]string{}
	for _, f := range p.Files {
		text, err := base64.StdEncoding.DecodeString(f.Content)
		if err != nil {
			return err
		}
		files[f.Path] = string(text)
	}
	m.mu.Lock()
	m.files = files
	m.mu.Unlock()
	return nil
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
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
