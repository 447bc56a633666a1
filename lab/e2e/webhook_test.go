// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/admission"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// admitted is a cluster whose object Rancher's own webhook admits, as published.
type admitted struct {
	*managed
	webhook *admission.Webhook
}

// underTheWebhook adds the webhook to a Rancher that has a cluster: an object that was written before it is to be
// admitted when it changes.
func underTheWebhook(t *testing.T, add func(*rancher.Server) (*rancher.Downstream, error)) *admitted {
	t.Helper()
	c := manageOn(t, rancher.StartBare, add)
	w := assert.Value(c.rancher.AddWebhook(t.Context()))(t)
	return &admitted{c, w}
}

// Rancher's own webhook admits every edit of every stage of an RKE2 cluster, forward and backward. What it refuses, and that it
// does not respond, is shown, and nothing is written.
func TestTheWebhookItselfAdmitsAMigrationOfAnRKE2ClusterOfARancher(t *testing.T) {
	t.Parallel()
	c := underTheWebhook(t, func(s *rancher.Server) (*rancher.Downstream, error) {
		return s.AddRKE2(t.Context(), document(t, "rancher/rke2.yaml"))
	})
	// Of v0.12.0 the part that reads dry runs finds this and admits them: it sets a result, and leaves them allowed.
	c.refused(0, `denied the request: podsecurityadmissionconfigurationtemplates.management.cattle.io "rancher-restricted" not found`)
	assert.NilError(t, c.rancher.AddTemplate(t.Context()))
	c.unanswered()
	c.admits()
	c.guarded()
	c.end("webhook-rke2")
}

// The same for an RKE cluster, whose object is another kind.
func TestTheWebhookItselfAdmitsAMigrationOfAnRKE1ClusterOfARancher(t *testing.T) {
	t.Parallel()
	c := underTheWebhook(t, func(s *rancher.Server) (*rancher.Downstream, error) {
		const name = "  displayName: legacy\n"
		return s.AddRKE1(t.Context(), inPlace(t, "rancher/rke1.yaml", name, name+"  webhookDeploymentCustomization: {replicaCount: 0}\n"), 1, 1)
	})
	c.refused(4, "spec.webhookDeploymentCustomization.replicaCount: Invalid value: 0: must be at least 1")
	c.patch(`[{"op":"replace","path":"/spec/webhookDeploymentCustomization/replicaCount","value":1}]`)
	c.unanswered()
	c.admits("--canonical")
	c.end("webhook-rke1")
}

// refused requires that the next edit is refused with what the webhook says, and that a dry run of it ends with an exit code.
func (c *admitted) refused(dry int, why string) {
	c.Helper()
	before := c.object()
	code, printed := c.dry()
	if code != dry || dry != 0 && !strings.Contains(printed, why) {
		c.Errorf("a dry run: exit code %d, want %d and %q\n%s", code, dry, why, printed)
	}
	if code, printed = c.apply(); code != 4 || !strings.Contains(printed, "the server rejected the change, nothing was written") || !strings.Contains(printed, why) {
		c.Errorf("apply: exit code %d, want 4 and %q\n%s", code, why, printed)
	}
	if _, printed := c.result(c.start(nil, "migrate"), 4); !strings.Contains(printed, why) {
		c.Errorf("a run that is refused does not say %q:\n%s", why, printed)
	}
	assert.DeepEqual(c, c.object(), before, "what was refused changed the cluster (-before +after)")
}

// unanswered requires that nothing is written while the webhook does not respond.
func (c *admitted) unanswered() {
	c.Helper()
	before := c.object()
	c.webhook.Kill()
	if code, printed := c.dry(); code == 0 || !strings.Contains(printed, "failed calling webhook") {
		c.Errorf("a dry run without a webhook: exit code %d\n%s", code, printed)
	}
	assert.DeepEqual(c, c.object(), before, "the cluster changed without the webhook (-before +after)")
	assert.NilError(c, c.webhook.Restart(c.Context()))
}

// admits takes the cluster forward, with a dry run of every edit before it is written, and backward.
func (c *admitted) admits(undo ...string) {
	c.Helper()
	stop := c.busy()
	c.least("migrate", "rollback")
	for _, stage := range stages.UndoNames() {
		code, printed := c.dry()
		if manual := code == 1 && strings.Contains(printed, "confirm it with --manual-done "+stage); code != 0 && !manual {
			c.Errorf("a dry run before %s: exit code %d\n%s", stage, code, printed)
		}
		c.rke("migrate", "--until", stage, "--etcd-snapshot")
	}
	c.served()
	c.writers(cluster.KCM, cluster.CCM)
	if c.downstream.Snapshots() == 0 {
		c.Error("no snapshot of etcd was taken")
	}
	before := c.written()
	c.prints(c.rke("migrate"), "nothing to do")
	assert.DeepEqual(c, c.written(), before, "a second run wrote (-before +after)")
	c.rke("rollback", undo...)
	stop()
	c.served()
	c.writers(cluster.KCM, cluster.CCM, cluster.KCM)
}

// guarded requires that the webhook has done its own work on the object all the while: the template's file is that of the
// template, and kube-apiserver gets it.
func (c *admitted) guarded() {
	c.Helper()
	secret := assert.Value(c.rancher.Local.Client(cluster.Admin))(c)
	file, err := secret.CoreV1().Secrets(rancher.Namespace).Get(c.Context(), c.downstream.Name+"-admission-configuration-psact", metav1.GetOptions{})
	if err != nil || !strings.Contains(string(file.Data["admission-config-psact"]), "restricted") {
		c.Errorf("the webhook has not written the file of the template: %v", err)
	}
	text, err := json.Marshal(c.object()["spec"])
	if err != nil || !strings.Contains(string(text), "admission-control-config-file=/etc/rancher/rke2/config/rancher-psact.yaml") {
		c.Errorf("kube-apiserver does not get that file: %s, %v", text, err)
	}
}

// dry lets Rancher check the next edit without storing it.
func (c *admitted) dry() (int, string) {
	c.Helper()
	return c.apply("--dry-run=server")
}

// apply makes the next edit, and returns the exit code and what is said.
func (c *admitted) apply(more ...string) (int, string) {
	c.Helper()
	program := assert.Value(tool())(c)
	cmd := exec.Command(program, slices.Concat([]string{
		"apply", "--next", "--manual-done", stages.InstallCCM, "--cluster", c.title,
		"--rancher-url", c.front.URL(), "--cacert", c.front.CA(), "--chart-repo", c.front.Charts(),
	}, c.choice, more)...)
	cmd.Env = append(c.front.Helm().Environment(), "RANCHER_TOKEN="+c.token, "PATH="+os.Getenv("PATH"))
	printed, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		c.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(printed)
}
