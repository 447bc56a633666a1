// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// The machines of a cluster that was upgraded before it was migrated: two have been there since the in-tree
// provider, one came when no one ran the cloud controllers, and one while RKE2's own cloud controller ran. That
// one's host name is the name of its instance; those of the others are not.
var past = []rancher.Joined{
	{Host: "lab-control-plane-1", With: cluster.InTree},
	{Host: "lab-worker-1", With: cluster.InTree},
	{Host: "lab-worker-2", With: cluster.None},
	{With: cluster.Stub},
}

// A cluster past 1.26 in which aws only names the nodes gets cloud controllers, and every node a provider ID of
// AWS. What only a person can do is what the run says, to the letter.
func TestMigrateOfAClusterOfARancherInWhichAWSOnlyNamesNodes(t *testing.T) {
	t.Parallel()
	c := manage(t, func(s *rancher.Server) (*rancher.Downstream, error) {
		return s.AddRKE2(t.Context(), document(t, "rancher/names-only.yaml"), past...)
	})
	c.choice = nil // the stages keep the names
	c.shows(c.title, plan.ProgressNone)
	before := c.providerIDs()
	assert.NilError(t, c.service(t.Context(), "web"))
	c.least("migrate", "rollback")
	if by := c.migrateUntilDone("migrate"); by < 1 {
		t.Error("the run did what only a person can do")
	}

	c.served()
	c.writers(cluster.CCM)
	after := c.providerIDs()
	if names := slices.Sorted(maps.Keys(before)); !slices.Equal(names, slices.Sorted(maps.Keys(after))) {
		t.Errorf("the nodes were %v and are %v", before, after)
	}
	c.shows(c.title, plan.ProgressExternal)
	c.identified()
	c.balanced(len(past))
	written := c.written()
	c.rke("migrate")
	if !maps.Equal(written, c.written()) {
		t.Errorf("a second run wrote: %v, and before it %v", c.written(), written)
	}
	if _, printed := c.result(c.start(nil, "rollback"), 4); !strings.Contains(printed, "provider IDs never change, so "+stages.SetProviderIDs+" cannot be undone either") {
		t.Error(printed)
	}
	if now := c.providerIDs(); !maps.Equal(after, now) {
		t.Errorf("the provider IDs were %v and are %v", after, now)
	}
	c.audited()
	c.end("names-only")
}

// shows requires that the table of clusters shows a situation.
func (c *managed) shows(name string, want plan.Progress) {
	c.Helper()
	program := assert.Value(tool())(c)
	cmd := exec.Command(program, "status", "-o", "json", "--rancher-url", c.rancher.URL(), "--cacert", c.rancher.CA(), "--cluster", name)
	cmd.Env = append(c.rancher.Helm().Environment(), "RANCHER_TOKEN="+c.rancher.Token())
	out, err := cmd.Output()
	var status struct {
		Clusters []struct{ Situation plan.Progress }
	}
	if json.Unmarshal(out, &status) != nil || len(status.Clusters) != 1 || status.Clusters[0].Situation != want {
		c.Errorf("%s: want the situation %q (%v)\n%s", name, want, err, out)
	}
}

// providerIDs are those of all nodes, by their names.
func (c *managed) providerIDs() map[string]string {
	c.Helper()
	list := assert.Value(c.client.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{}))(c)
	ids := map[string]string{}
	for _, n := range list.Items {
		ids[n.Name] = n.Spec.ProviderID
	}
	return ids
}

// identified requires that every machine's node is as the cloud-controller-manager makes it.
func (c *managed) identified() {
	c.Helper()
	for _, i := range c.downstream.Instances() {
		node, err := c.client.CoreV1().Nodes().Get(c.Context(), i.Name, metav1.GetOptions{})
		if err != nil {
			c.Error(err)
			continue
		}
		if problem := cluster.NodeProblem(node, i); problem != "" {
			c.Errorf("node %s: %s", i.Name, problem)
		}
	}
}

// balanced waits until every load balancer has so many instances.
func (c *managed) balanced(instances int) {
	c.Helper()
	c.eventually("all instances of the load balancers", func(context.Context) bool {
		for _, n := range c.cluster.AWS.Balancers() {
			if n != instances {
				return false
			}
		}
		return true
	})
}

// enough is how often a run may stop for a person.
const enough = 5

// migrateUntilDone runs rke-lm until it is done. Whenever it stops for a person, what it says is done, and the same
// command is run again. It returns how often that was.
func (c *managed) migrateUntilDone(verb string) int {
	c.Helper()
	for times := range enough {
		r := c.start(nil, verb)
		if code, _ := c.result(r, 0, 3); code == 0 {
			return times
		}
		c.obey(r.fault.String())
	}
	c.Fatalf("%s stopped for a person more than %d times", verb, enough)
	return 0
}

const (
	again     = "then run this command again:\n"
	done      = "\n  done: "
	onMachine = "# on its machine: "
	onRancher = "# on Rancher's own cluster:"
)

var deleted = regexp.MustCompile(`kubectl delete node (\S+)`)

// obey carries out the commands with which a run has stopped: kubectl as it is published, against the cluster or
// Rancher's own, and systemctl on the machine of the node that was deleted.
func (c *managed) obey(printed string) {
	c.Helper()
	_, commands, found := strings.Cut(printed, again)
	commands, _, ends := strings.Cut(commands, done)
	if !found || !ends {
		c.Fatalf("the run stopped without commands\n%s", printed)
	}
	on, node := c.cluster, ""
	for line := range strings.Lines(commands) {
		line = strings.TrimSpace(line)
		if m := deleted.FindStringSubmatch(line); m != nil {
			node = m[1]
		}
		switch command, machine := strings.CutPrefix(line, onMachine); {
		case line == "":
		case line == onRancher:
			on = c.rancher.Local
		case machine:
			service, _ := strings.CutPrefix(command, "systemctl restart ")
			assert.NilError(c, c.downstream.Restart(c.Context(), node, service))
		default:
			c.shell(on, line)
		}
	}
}

// shell runs a command line as the administrator of a cluster.
func (c *managed) shell(on *cluster.Cluster, line string) {
	c.Helper()
	kubectl := assert.Value(build.Kubectl.Path(c.Context()))(c)
	config := assert.Value(on.Kubeconfig(cluster.Admin))(c)
	cmd := exec.CommandContext(c.Context(), "sh", "-c", line)
	cmd.Env = []string{"PATH=" + filepath.Dir(kubectl) + ":" + os.Getenv("PATH"), "KUBECONFIG=" + config, "HOME=" + c.cluster.Dir}
	out, err := cmd.CombinedOutput()
	c.Logf("$ %s\n%s", line, out)
	if err != nil {
		c.Fatalf("%s: %v", line, err)
	}
}
